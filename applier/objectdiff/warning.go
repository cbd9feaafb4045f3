package objectdiff

import (
	"fmt"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
)

// The rules of warnings about changes that the author may not have intended. A
// warning is a problem of severity Warning. It has a rule, a message and,
// unless it is about the whole object, a path.
const (
	RuleImmutable = "immutable" // a change of a field that the API server does not allow
	RuleLoss      = "loss"      // data, an address or objects are lost
	RuleRenamed   = "renamed"   // an object that was probably renamed
	RuleSelector  = "selector"  // a selector no longer matches Pods
	RuleScale     = "scale"     // a workload is scaled to zero
	RuleOrphan    = "orphan"    // an object stays in the cluster without an owner
	RuleRefused   = "refused"   // an apply would fail
	RuleUnchecked = "unchecked" // the API server cannot check the object yet
	RuleTaken     = "taken"     // fields or an object are taken from another owner
)

// warn adds a warning, unless the object has the same one already. The path is
// that of a field, or "" for a warning about the whole object.
func (o *ObjectDiff) warn(rule, path, format string, args ...any) {
	w := problem.Problem{Severity: problem.Warning, Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.Warnings, w) {
		o.Warnings = append(o.Warnings, w)
	}
}

// notUntilRecreated completes a message about a change that the API server refuses:
// only a new object can have the new value. lost is the cost of recreating the
// object, such as "the new one starts empty"; it may be empty.
func (o *ObjectDiff) notUntilRecreated(message, lost string) string {
	if o.new.policy.recreated {
		message += ": the object will be deleted and recreated"
	} else {
		message += ": the API server refuses it until the object is deleted and recreated"
	}
	if lost != "" {
		message += ", and " + lost
	}
	return message
}
