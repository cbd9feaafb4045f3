package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/review/forecast"
)

// The rules of warnings that only a cluster gives.
const (
	// RuleDrift is a live field that others changed since the last apply. The apply sets it
	// back.
	RuleDrift = "drift"
	// RuleAbsent is an object that the base has and the cluster doesn't.
	RuleAbsent = "absent"
	// RuleAltered is a changed field that gets another value in a dry run: an admission
	// webhook or the API server sets it.
	RuleAltered = "altered"
)

// Answers are the answers of a cluster about the head.
type Answers struct {
	// Diff has the changes that applying the head makes to the live objects, and
	// Consequences their effects.
	Diff         objectdiff.Diff
	Consequences map[objectdiff.Key][]forecast.Consequence
	// Exists has the objects that the cluster had an answer for: true for those that exist.
	Exists map[objectdiff.Key]bool
	// Results are the existing objects as dry runs leave them.
	Results map[objectdiff.Key]*objectdiff.Object
}

// Refine replaces the forecasts for objects that a cluster has answers for, and adds warnings
// about what only the cluster knows. What has no answer keeps the forecast of the files.
// Groups stay as they are: they are about the files.
func (r *Report) Refine(live Live, answers Answers) {
	changed := map[objectdiff.Key]*objectdiff.ObjectDiff{}
	for i := range answers.Diff.Objects {
		changed[answers.Diff.Objects[i].Key] = &answers.Diff.Objects[i]
	}
	for i := range r.Instances {
		for k := range r.Instances[i].Objects {
			o := &r.Instances[i].Objects[k]
			exists, asked := answers.Exists[o.Key]
			if asked {
				live.Objects++
				o.refine(changed[o.Key], exists, answers)
			}
			delete(changed, o.Key)
		}
	}
	for i := range answers.Diff.Objects {
		d := &answers.Diff.Objects[i]
		if changed[d.Key] == nil {
			continue
		}
		other := Object{ObjectDiff: *d, Consequences: answers.Consequences[d.Key]}
		other.Warnings = append(slices.Clone(d.Warnings), drift(d)...)
		live.Others = append(live.Others, other)
	}
	r.Live = &live
	r.Plan = r.plan()
	r.Dangers = nil
	r.findDangers()
}

// refine replaces the forecast of an object. live is its change in the cluster, or nil if an
// apply doesn't change it.
func (o *Object) refine(live *objectdiff.ObjectDiff, exists bool, answers Answers) {
	var kept problem.List
	altered := alterations(o.Altered(answers.Results[o.Key]))
	for _, w := range o.Warnings {
		// The dry run has decided what is refused, and the cluster what is lost.
		if w.Rule != objectdiff.RuleImmutable && (exists || w.Rule != objectdiff.RuleLoss) {
			kept = append(kept, w)
		}
	}
	switch {
	case live == nil && len(altered) > 0:
		o.Consequences = []forecast.Consequence{{Effect: forecast.None, Reason: "the API server sets its fields back to those of the live object", Rule: "live"}}
	case live == nil && exists:
		o.Consequences = []forecast.Consequence{{Effect: forecast.None, Reason: "the live object is like this already", Rule: "live"}}
	case live == nil:
		o.Consequences = []forecast.Consequence{{Effect: forecast.None, Reason: "the graph has no such object in the cluster", Rule: "live"}}
	default:
		o.Consequences, o.Refused, o.Recreated = answers.Consequences[o.Key], live.Refused, live.Recreated
		if o.Refused {
			o.Consequences = nil
		}
		for _, w := range live.Warnings {
			if !slices.ContainsFunc(kept, func(k problem.Problem) bool { return k.Rule == w.Rule && k.Path == w.Path }) {
				kept = append(kept, w)
			}
		}
		if !live.Refused { // an owner of a field that refuses it is in the warning
			kept = append(kept, drift(live)...)
		}
		if o.Action == objectdiff.Modify && !exists {
			kept = append(kept, problem.Problem{Severity: problem.Warning, Rule: RuleAbsent, Message: "doesn't exist in the cluster: the apply creates it"})
		}
	}
	o.Warnings = append(kept, altered...)
}

// alterations returns a warning for each field that a dry run sets to another value.
func alterations(changes []objectdiff.Change) problem.List {
	var all problem.List
	for _, c := range changes {
		_, result := c.Inline()
		all = append(all, problem.Problem{
			Severity: problem.Warning, Rule: RuleAltered, Path: c.Path.String(),
			Message: "gets the value " + result + " in a dry run: an admission webhook or the API server sets it",
		})
	}
	return all
}

// drift returns a warning for each live field that others changed and an apply sets back.
func drift(d *objectdiff.ObjectDiff) problem.List {
	var all problem.List
	for _, c := range d.Changes {
		if c.By == "" {
			continue
		}
		live, applied := c.Inline()
		message := fmt.Sprintf("%s changed it to %s, and the apply sets it to %s", c.By, live, applied)
		switch c.Action {
		case objectdiff.Add:
			message = fmt.Sprintf("%s removed it, and the apply sets it to %s", c.By, applied)
		case objectdiff.Remove:
			message = fmt.Sprintf("%s set it to %s, and the apply removes it", c.By, live)
		case objectdiff.Reorder:
			message = c.By + " changed its order, and the apply restores it"
		}
		all = append(all, problem.Problem{Severity: problem.Warning, Rule: RuleDrift, Path: c.Path.String(), Message: message})
	}
	return all
}

// plan counts the objects of all instances per action.
func (r *Report) plan() objectdiff.Plan {
	var all objectdiff.Diff
	for i := range r.Instances {
		all.Objects = append(all.Objects, r.Instances[i].diff().Objects...)
	}
	return all.Plan()
}

// drifted counts the objects with fields that others changed.
func (r *Report) drifted() int {
	n := 0
	count := func(objects []Object) {
		for _, o := range objects {
			if slices.ContainsFunc(o.Warnings, func(w problem.Problem) bool { return w.Rule == RuleDrift }) {
				n++
			}
		}
	}
	for i := range r.Instances {
		count(r.Instances[i].Objects)
	}
	if r.Live != nil {
		count(r.Live.Others)
	}
	return n
}

// String returns the first line about the cluster.
func (l *Live) String() string {
	if l.Error != "" {
		return l.Context + ", not asked: " + l.Error + "; the forecast is that of the files"
	}
	return l.Context + ", refined by a dry run"
}

// OthersTitle is the heading above Others.
func (l *Live) OthersTitle() string {
	return "Also changed by an apply in " + l.Context + ", but not by the files"
}

// WarningText returns a warning with its field.
func WarningText(w problem.Problem) string {
	if w.Path == "" {
		return w.Message
	}
	return w.Path + ": " + w.Message
}

// Notes returns further lines about what could not be asked.
func (l *Live) Notes() []string {
	var all []string
	for _, n := range l.NotAsked {
		all = append(all, "not asked: "+n)
	}
	if len(l.ReadOnly) > 0 {
		all = append(all, "compared without the API server's defaults: this account may not patch "+strings.Join(l.ReadOnly, ", "))
	}
	return all
}
