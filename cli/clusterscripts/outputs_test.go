package clusterscripts_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pequod-io/pequod/test/harness"
)

// recorded is a test that runs a script and keeps its log, which has the output of every
// command. It implements [testscript.T].
type recorded struct {
	*testing.T
	log *strings.Builder // a script is one goroutine
}

func (r recorded) Run(name string, f func(testscript.T)) {
	r.T.Run(name, func(t *testing.T) { f(recorded{t, r.log}) })
}

// Verbose makes testscript log the output of commands that succeeded, too.
func (r recorded) Verbose() bool { return true }

// Log keeps the log of the script.
func (r recorded) Log(args ...any) {
	r.Helper()
	fmt.Fprint(r.log, args...)
	r.T.Log(args...)
}

// printers are the commands that print or compare objects of the cluster. The others
// print the files of the user.
var printers = regexp.MustCompile(`pequod (action|adopt|apply|delete|diff|history|status|ui)\b`)

// outputs returns the output of the commands in the log of a script that are printers.
func outputs(log string) string {
	var b strings.Builder
	printer, output := false, false
	for line := range strings.Lines(log) {
		switch {
		case strings.HasPrefix(line, "> "):
			printer, output = printers.MatchString(line) || strings.HasPrefix(line, "> wait"), false
		case line == "[stdout]\n" || line == "[stderr]\n":
			output = true
		case printer && output:
			b.WriteString(line)
		}
	}
	return b.String()
}

// record returns the test that runs a script. When the script has ended, it searches the
// output for values of Secrets that are in the cluster then.
func record(t *testing.T, c *harness.Cluster) recorded {
	r := recorded{t, &strings.Builder{}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		text := outputs(r.log.String())
		if text == "" && !t.Skipped() {
			t.Error("the output of no command was searched for values of Secrets")
		}
		c.SearchOutput(ctx, t, "the output of the commands", text)
	})
	return r
}
