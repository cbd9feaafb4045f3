package execute

import (
	"fmt"
	"io"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/source"
)

// PrintObstacles prints the reasons why nodes can't be applied, for those nodes
// for which chosen returns true. Callers leave out nodes whose reason their own
// output has. It also prints why objects that left the graph can't be read. It returns
// the exit code for the failures of all nodes and removals, printed or not.
func PrintObstacles(w io.Writer, plans []*applier.Plan, chosen func(applier.PlannedNode) bool) int {
	code := command.ExitOK
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			code = max(code, NodeExitCode(n))
			text := n.WaitReason
			if n.Failure != nil {
				text = n.Failure.Error()
			}
			if text != "" && chosen(n) {
				fmt.Fprintln(w, source.Escape(fmt.Sprintf("pequod: graph %s: node %s: %s", plan.Owner, n.ID, text), ""))
			}
		}
		for _, l := range plan.Removals {
			if l.Failure == nil {
				continue
			}
			code = max(code, failureCode(l.Failure))
			if l.Live == nil { // no other output has it
				fmt.Fprintln(w, source.Escape(fmt.Sprintf("pequod: graph %s: %s: %s", plan.Owner, l.Key, l.Failure), ""))
			}
		}
	}
	return code
}

// NodeExitCode returns the exit code for the failure of a planned node. Waiting for
// another node is not a failure.
func NodeExitCode(n applier.PlannedNode) int {
	if n.Failure == nil {
		return command.ExitOK
	}
	return failureCode(n.Failure)
}

// failureCode returns ExitNo for a definite rejection, and ExitUnknown for a
// failure that doesn't tell the result of a real apply, such as missing rights or an API
// group that can't be discovered.
func failureCode(f *engine.Failure) int {
	switch f.Reason {
	case engine.ReasonForbidden, engine.ReasonWebhookFailed, engine.ReasonApplyFailed, engine.ReasonKindUnavailable:
		return command.ExitUnknown
	}
	return command.ExitNo
}
