// Command docgen writes the command reference: one Markdown page per command of
// pequod, generated from the texts of --help.
//
//	go run ./cli/docgen docs/cmd
//
// It owns the directory and removes pages of commands that no longer exist. The pages
// contain no date and nothing of the machine, so an unchanged command line produces
// unchanged pages; `make verify` compares them.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/pequod-io/pequod/cli"
)

// header is the first line of every page.
const header = "<!-- Written by `make generate` from the command's own help. -->\n\n"

// main writes the pages to the directory of its only argument.
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

// write replaces all pages in dir.
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
	root.DisableAutoGenTag = true // it has the date
	root.InitDefaultCompletionCmd()
	return doc.GenMarkdownTreeCustom(root, dir,
		func(string) string { return header },
		func(page string) string { return page })
}
