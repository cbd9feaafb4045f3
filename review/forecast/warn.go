package forecast

import (
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// Warn adds the consequences that a reader must know to the warnings of a diff. Milder
// ones are left out, and so are those that a warning of the object tells already. The
// rule of such a warning is the effect.
func Warn(d *objectdiff.Diff, found map[objectdiff.Key][]Consequence) {
	for i := range d.Objects {
		o := &d.Objects[i]
		for _, c := range found[o.Key] {
			if c.Effect.Severity() < Unnoticed.Severity() || warned(o, c.Effect) {
				continue
			}
			o.Warnings = append(o.Warnings, problem.Problem{Severity: problem.Warning, Rule: string(c.Effect), Path: c.Path, Message: c.String()})
		}
	}
}

// warned reports whether an object has a warning about an effect, or its removal tells the
// effect.
func warned(o *objectdiff.ObjectDiff, e Effect) bool {
	var rules []string
	switch e {
	case Refused:
		rules = []string{objectdiff.RuleImmutable, objectdiff.RuleRefused}
	case Recreate:
		rules = []string{objectdiff.RuleImmutable}
	case Unreachable:
		rules = []string{objectdiff.RuleSelector}
	case Lost:
		rules = []string{objectdiff.RuleLoss}
	case Stopped:
		if o.Action == objectdiff.Remove {
			return true
		}
		rules = []string{objectdiff.RuleScale}
	}
	return slices.ContainsFunc(o.Warnings, func(w problem.Problem) bool { return slices.Contains(rules, w.Rule) })
}
