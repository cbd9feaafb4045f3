package sqs

import (
	"strings"
	"testing"
)

// TestSignature checks the request get-vanilla of the published test suite of Signature Version 4.
func TestSignature(t *testing.T) {
	t.Parallel()
	canonical := strings.Join([]string{
		"GET", "/", "", "host:example.amazonaws.com", "x-amz-date:20150830T123600Z", "", "host;x-amz-date",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	}, "\n")
	const want = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	if got := signature("20150830T123600Z", "20150830", "us-east-1", "service", canonical); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
