package execute

import (
	"fmt"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// LiveNode returns the change that a plan makes to one object, for printing as a
// difference, with warnings about its effects: a new object in place of an
// immutable one, an unchecked apply, a takeover. It reads only the plan and sends
// no request.
func LiveNode(plan *applier.Plan, n applier.PlannedNode) objectdiff.Live {
	l := objectdiff.Live{
		Graph: plan.Owner.String(), Before: n.Live, After: n.Object, Manager: n.Manager,
		CorrectsDrift: n.Op == engine.Corrected, Recreated: n.Op == engine.Recreated, Refusal: refusal(n),
	}
	// Fields with references are unknown until the apply; they are not compared.
	for _, u := range n.Unknown {
		l.Unknown = append(l.Unknown, reference.Path(u.Path))
	}
	note := func(rule, path, format string, args ...any) {
		l.Warnings = append(l.Warnings, problem.Problem{Severity: problem.Warning, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	// A missing dry run is only worth a warning if no unknown reference explains it.
	switch {
	case n.RecreateReason != "":
		note(objectdiff.RuleImmutable, "", "%s", n.RecreateReason)
	case n.Unchecked != "" && len(n.Unknown) == 0:
		note(objectdiff.RuleUnchecked, "", "isn't checked: %s", n.Unchecked)
	}
	switch {
	case n.Op == engine.Adopted && n.PreviousOwner != nil:
		note(objectdiff.RuleTaken, "", "is taken from graph %s", n.PreviousOwner)
	case n.Op == engine.Adopted:
		note(objectdiff.RuleTaken, "", "already exists and is taken over")
	}
	// The correction of drift takes fields back; every changed field would be noted.
	if n.Op != engine.Corrected {
		for _, c := range n.Taken {
			note(objectdiff.RuleTaken, c.Field, "taken from %s", c.Manager)
		}
	}
	return l
}

// refusal returns the reason why a node can't be applied in the present state of
// the cluster, "" if it can. A node that waits for a failed one is refused too.
// The text of a conflict names the flag that resolves it.
func refusal(n applier.PlannedNode) string {
	switch {
	case n.Failure == nil:
		return n.WaitReason
	case n.Failure.Reason == engine.ReasonConflict:
		return n.Failure.Message + "; apply takes it with --force-conflicts"
	}
	return n.Failure.Error()
}
