// Package run has the commands that execute graphs in a cluster from the command
// line, and show their state.
//
//   - apply.go: apply, which creates, updates and prunes objects
//   - delete.go: delete, which removes or releases all objects of graphs
//   - status.go, statuslist.go, statuswatch.go: status, once, as a list, or live
//   - history.go: history, the finished executions of a graph
//   - reconcile.go: reconcile, which requests a reconciliation of an object
//   - adopt.go: adopt, which lists existing objects for spec.adopt
//
// The commands take the same two kinds of arguments: files of ResourceGraphs and
// instances with -f, and, except for apply and adopt, names of graphs in the
// cluster:
//
//	pequod apply -f app.yaml -p platforms/ -n shop
//	pequod status web-1b2c3d4e -n shop --wait
//	pequod delete web-1b2c3d4e -n shop
//
// The engine is package applier; this package turns flags and files into calls of
// it. Running several graphs at once, progress and exit codes are in package
// execute, which package install shares.
package run

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package: apply, delete, status, history, reconcile
// and adopt.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newApplyCommand(env), newDeleteCommand(env), newStatusCommand(env), newHistoryCommand(env), newReconcileCommand(env), newAdoptCommand(env)}
}
