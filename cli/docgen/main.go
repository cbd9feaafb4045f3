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
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/pequod-io/pequod/cli"
	"github.com/pequod-io/pequod/cli/command"
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
	return writePages(root, dir)
}

// writePages writes the pages of cmd and of all commands below it.
func writePages(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if err := writePages(sub, dir); err != nil {
				return err
			}
		}
	}
	var page bytes.Buffer
	err := command.WithoutGroup(cmd, func() error {
		return doc.GenMarkdownCustom(cmd, &page, func(link string) string { return link })
	})
	if err != nil {
		return err
	}
	text := header + page.String()
	if title, flags := command.Grouped(cmd); title != "" {
		const next = "### SEE ALSO"
		text = strings.Replace(text, next, "### "+title+"\n\n```\n"+flags.FlagUsages()+"```\n\n"+next, 1)
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
}
