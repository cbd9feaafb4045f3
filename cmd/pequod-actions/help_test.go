package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestHelp checks that the help has nothing about graphs, which the program doesn't execute.
func TestHelp(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	if code := (&options{}).program().Run([]string{"--help"}, &out, &err); code != 0 {
		t.Fatalf("exit code %d: %s", code, err.String())
	}
	if help := out.String() + err.String(); !strings.Contains(help, "--leader-election-id") || strings.Contains(help, "graph") {
		t.Errorf("help:\n%s", help)
	}
}
