package cli_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStart checks that no package of ours does much before main: every command starts
// all packages, and most commands use few of them. internal/lazyregexp is the cure for
// regular expressions.
func TestStart(t *testing.T) {
	const most = 100 // allocations
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	inits := regexp.MustCompile(`(?m)^init github\.com/pequod-io/pequod/(\S+) .* (\d+) allocs$`).FindAllStringSubmatch(string(trace), -1)
	if len(inits) < 10 {
		t.Fatalf("the trace has %d packages of ours:\n%s", len(inits), trace)
	}
	for _, init := range inits {
		if allocs, _ := strconv.Atoi(init[2]); allocs > most && !strings.HasPrefix(init[1], "test/") {
			t.Errorf("%s allocates %d times before main, want at most %d", init[1], allocs, most)
		}
	}
}
