// Command docgen writes the command reference: one Markdown page per command
// of pequod, from the very texts that --help prints.
//
//	go run ./cli/docgen docs/cmd
//
// The directory is its own: pages of commands that are gone are removed. The
// pages hold no date and nothing of the machine, so that an unchanged command
// line gives unchanged pages; `make verify` compares them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/pequod-io/pequod/cli"
)

const header = "<!-- Written by `make generate` from the command's own help. -->\n\n"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docgen DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	stale, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	for _, page := range stale {
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	root := cli.Command()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	return doc.GenMarkdownTreeCustom(root, dir,
		func(string) string { return header },
		func(page string) string { return page })
}
