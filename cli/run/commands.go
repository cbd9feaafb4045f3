// Package run has the commands that execute graphs in a cluster from the command
// line, and show their state: apply, delete, status and adopt. The engine is
// package applier; this package turns flags and files into calls of it.
package run

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newApplyCommand(env), newDeleteCommand(env), newStatusCommand(env), newAdoptCommand(env)}
}
