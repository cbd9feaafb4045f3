package shards

import (
	"testing"

	"k8s.io/client-go/rest"
)

// TestConfigIsKept checks that the timeout of requests for Leases isn't that of all other requests,
// such as watches.
func TestConfigIsKept(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "test"}
	if _, err := New(config, Options{Count: 2, Lease: "test"}); err != nil {
		t.Fatal(err)
	}
	if config.Timeout != 0 || config.UserAgent != "test" {
		t.Errorf("the configuration has the timeout %s and the user agent %q", config.Timeout, config.UserAgent)
	}
}
