package execute

import (
	"fmt"
	"io"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/source"
)

// printObstacles prints what an apply would fail of or wait for, of the nodes
// that are chosen, and gives the exit code for what is in the way of any.
func PrintObstacles(w io.Writer, plans []*applier.Plan, chosen func(applier.PlannedNode) bool) int {
	code := command.ExitOK
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			code = max(code, NodeExitCode(n))
			text := n.WaitReason
			if n.Failure != nil {
				text = n.Failure.Message
			}
			if text != "" && chosen(n) {
				fmt.Fprintln(w, source.Escape(fmt.Sprintf("pequod: graph %s: node %s: %s", plan.Owner, n.ID, text), ""))
			}
		}
		for _, l := range plan.Removals {
			if l.Failure != nil {
				code = max(code, failureCode(l.Failure))
			}
		}
	}
	return code
}

// obstacle is the exit code for what is in the way of a node. That something
// else has to come first is none.
func NodeExitCode(n applier.PlannedNode) int {
	if n.Failure == nil {
		return command.ExitOK
	}
	return failureCode(n.Failure)
}

// failureCode tells what was refused from what couldn't be asked.
func failureCode(f *engine.Failure) int {
	switch f.Reason {
	case engine.ReasonForbidden, engine.ReasonWebhookFailed, engine.ReasonApplyFailed:
		return command.ExitUnknown
	}
	return command.ExitNo
}
