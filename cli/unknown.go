package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/internal/source"
)

// suggest makes cmd and the commands below it answer an unknown subcommand with the one that was probably
// meant.
func suggest(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
		suggest(sub)
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant := source.Nearest(args[0], names)
		if !cmd.HasParent() {
			meant = cmp.Or(equivalent(args[0]), meant)
		}
		if meant == "" {
			return fmt.Errorf("unknown command %q for %q; see '%s --help'", args[0], cmd.CommandPath(), cmd.CommandPath())
		}
		return fmt.Errorf("unknown command %q for %q; did you mean %q?", args[0], cmd.CommandPath(), meant)
	}
}

// equivalent returns the command for a command of kubectl, Helm, Timoni, Terraform and similar tools, or "".
func equivalent(name string) string {
	switch name {
	case "build", "template":
		return "render"
	case "check", "lint", "vet":
		return "validate"
	case "plan", "preview":
		return "diff"
	case "deploy", "sync", "up", "upgrade":
		return "apply"
	case "destroy", "down", "rm":
		return "delete"
	case "get", "list", "ls", "describe":
		return "status"
	case "init", "new", "create":
		return "module init"
	}
	return ""
}
