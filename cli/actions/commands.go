// Package actions has the commands about Actions, which pequod-actions executes.
//
//   - approve.go: action approve, which approves the plan of a run
//   - conformance.go: action conformance, which checks a server of the executor protocol
//
// The checks of a server are in package actions/conformance.
package actions

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the command action.
func Commands(env command.Env) []*cobra.Command {
	cmd := &cobra.Command{
		Use:   "action",
		Short: "Approve plans of Actions, and check servers that execute them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApproveCommand(env), newConformanceCommand(env))
	return []*cobra.Command{cmd}
}
