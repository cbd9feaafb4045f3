package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
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

// TestFlagsDocumented checks that each flag that only this program has is in a table.
func TestFlagsDocumented(t *testing.T) {
	t.Parallel()
	var docs []byte
	for _, name := range []string{"operations", "history", "notifications"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, text...)
	}
	flags := 0
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&options{}).program().AddFlags(fs, &incluster.Settings{})
	fs.VisitAll(func(f *pflag.Flag) {
		flags++
		if !bytes.Contains(docs, []byte("| `--"+f.Name+"` |")) {
			t.Errorf("no row for --%s", f.Name)
		}
	})
	if flags < 8 {
		t.Errorf("%d flags", flags)
	}
}
