package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// dangerous are the effects that are dangers, apart from those of warnings.
func dangerous(e forecast.Effect) bool {
	return e.Severity() >= forecast.Unnoticed.Severity() && e != forecast.RollingRestart
}

// findDangers fills in r.Dangers from the warnings and consequences of the first instance
// of each group. Equal ones of the other instances are counted.
func (r *Report) findDangers() {
	for _, g := range r.Groups {
		for i := range r.Shown(g).Objects {
			r.Dangers = append(r.Dangers, dangersOf(&r.Shown(g).Objects[i], g)...)
		}
	}
	slices.SortStableFunc(r.Dangers, func(a, b Danger) int { return cmp.Compare(weight(b.Rule), weight(a.Rule)) })
}

// dangersOf returns the dangers of an object of the first instance of a group. A warning
// and a consequence of one field are about the same thing, and the warning says more.
func dangersOf(o *Object, g Group) []Danger {
	var all []Danger
	add := func(rule, path, message string) {
		all = append(all, Danger{Rule: rule, Path: path, Message: message, Object: o.Key, Others: len(g.Instances) - 1, Instance: g.Instances[0], Conditions: conditionsOf(rule)})
	}
	for _, w := range o.Warnings {
		add(w.Rule, w.Path, w.Message)
	}
	for _, c := range o.Consequences {
		if !dangerous(c.Effect) || o.endsAlone(c.Effect) || covers(o.Warnings, c) {
			continue
		}
		add(string(c.Effect), c.Path, c.String())
	}
	return all
}

// endsAlone reports whether an effect is the end of the Pods of a removed workload, which
// the removal says already.
func (o *Object) endsAlone(e forecast.Effect) bool {
	return o.Action == objectdiff.Remove && e == forecast.Stopped
}

// covers reports whether a warning about the same field, or one around it, tells about the
// effect already.
func covers(warnings problem.List, c forecast.Consequence) bool {
	rules := map[forecast.Effect][]string{
		forecast.Refused:  {objectdiff.RuleImmutable, objectdiff.RuleRefused},
		forecast.Recreate: {objectdiff.RuleImmutable},
		forecast.Lost:     {objectdiff.RuleLoss, objectdiff.RuleImmutable},
		forecast.Stopped:  {objectdiff.RuleScale},
	}[c.Effect]
	return slices.ContainsFunc(warnings, func(w problem.Problem) bool {
		return slices.Contains(rules, w.Rule) && strings.HasPrefix(c.Path, w.Path)
	})
}

// weight orders dangers: refusals first, then losses, then the rest.
func weight(rule string) int {
	switch rule {
	case objectdiff.RuleRefused, objectdiff.RuleImmutable:
		return 3
	case objectdiff.RuleLoss, string(forecast.Lost):
		return 2
	case string(forecast.Recreate), objectdiff.RuleScale, objectdiff.RuleOrphan, string(forecast.Stopped):
		return 1
	}
	return 0
}
