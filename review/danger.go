package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/forecast"
)

// dangerous are the effects that are dangers, apart from those of warnings.
func dangerous(e forecast.Effect) bool {
	return e.Severity() >= forecast.Unnoticed.Severity() && e != forecast.RollingRestart
}

// findDangers fills in r.Dangers from the warnings and consequences of all instances. Instances
// of a group may differ in their dangers: their values differ, or an autoscaler or a reader
// exists for only one of them. The first instance with a danger stands for those that have one
// of the same rule about the same field, which are counted.
func (r *Report) findDangers() {
	type key struct {
		group, nth       int // nth tells equal ones of one instance apart
		rule, path, kind string
	}
	first := map[key]int{}
	for n, g := range r.Groups {
		for _, i := range g.Instances {
			times := map[key]int{}
			var all []Danger
			for k := range r.Instances[i].Objects {
				all = append(all, dangersOf(&r.Instances[i].Objects[k], i)...)
			}
			for _, d := range foldRenames(all) {
				d.Cluster = r.Instances[i].Cluster
				id := key{group: n, rule: d.Rule, path: d.Path, kind: d.Object.Kind}
				times[id]++
				id.nth = times[id]
				if at, ok := first[id]; ok {
					r.Dangers[at].Others++
					continue
				}
				first[id] = len(r.Dangers)
				r.Dangers = append(r.Dangers, d)
			}
		}
	}
	if r.Stale != nil {
		r.Dangers = append(r.Dangers, r.Stale.danger())
	}
	slices.SortStableFunc(r.Dangers, func(a, b Danger) int { return cmp.Compare(weight(b.Rule), weight(a.Rule)) })
}

// foldRenames keeps one danger for the objects of an instance that were probably renamed,
// because they were renamed together, and counts the others in its message. One that starts
// without the old data stands for them.
func foldRenames(all []Danger) []Danger {
	best, others := -1, 0
	for i, d := range all {
		switch {
		case d.Rule != objectdiff.RuleRenamed:
		case best < 0:
			best = i
		default:
			others++
			if storesData(d.Object.Kind) && !storesData(all[best].Object.Kind) {
				best = i
			}
		}
	}
	if others == 0 {
		return all
	}
	all[best].Message += " (and " + source.Count(others, "more object") + " of the instance)"
	keep := all[best].Object
	return slices.DeleteFunc(all, func(d Danger) bool { return d.Rule == objectdiff.RuleRenamed && d.Object != keep })
}

// storesData reports whether a new object of the kind starts empty.
func storesData(kind string) bool { return kind == "PersistentVolumeClaim" || kind == "StatefulSet" }

// dangersOf returns the dangers of an object of an instance. A warning and a consequence of one
// field are about the same thing, and the warning tells more.
func dangersOf(o *Object, instance int) []Danger {
	var all []Danger
	add := func(rule, path, message string) {
		all = append(all, Danger{Rule: rule, Path: path, Message: message, Object: o.Key, Instance: instance, Conditions: conditionsOf(rule)})
	}
	for _, w := range o.Warnings {
		add(w.Rule, w.Path, w.Message)
	}
	for _, c := range o.Consequences {
		if !dangerous(c.Effect) || o.endsAlone(c) || covers(o.Warnings, c) {
			continue
		}
		add(string(c.Effect), c.Path, c.String())
	}
	return all
}

// endsAlone reports whether a consequence is the end of a removed object, which the removal
// says already.
func (o *Object) endsAlone(c forecast.Consequence) bool {
	return o.Action == objectdiff.Remove && c.Effect == forecast.Stopped
}

// endsPods reports whether Pods that run now end with their removed workload. That is no danger
// of its own, but the verdict and [Restarts] count it.
func (o *Object) endsPods(c forecast.Consequence) bool {
	return o.endsAlone(c) && (c.Pods > 0 || c.AllNodes)
}

// covers reports whether a warning about the same field, or one around it, tells about the
// effect already. A workload may leave a Service without endpoints by a field or as a whole.
func covers(warnings problem.List, c forecast.Consequence) bool {
	rules := map[forecast.Effect][]string{
		forecast.Refused:     {objectdiff.RuleImmutable, objectdiff.RuleRefused},
		forecast.Recreate:    {objectdiff.RuleImmutable},
		forecast.Lost:        {objectdiff.RuleLoss, objectdiff.RuleImmutable},
		forecast.Stopped:     {objectdiff.RuleScale},
		forecast.Unreachable: {objectdiff.RuleSelector},
	}[c.Effect]
	return slices.ContainsFunc(warnings, func(w problem.Problem) bool {
		return slices.Contains(rules, w.Rule) && (c.Effect == forecast.Unreachable || strings.HasPrefix(c.Path, w.Path))
	})
}

// weight orders dangers: stale output first, then refusals, losses and the rest.
func weight(rule string) int {
	switch rule {
	case RuleStale: // it is about the whole report
		return 4
	case objectdiff.RuleRefused, objectdiff.RuleImmutable:
		return 3
	case objectdiff.RuleLoss, string(forecast.Lost):
		return 2
	case string(forecast.Recreate), objectdiff.RuleScale, objectdiff.RuleOrphan, string(forecast.Stopped):
		return 1
	}
	return 0
}
