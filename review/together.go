package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/forecast"
)

// Together is a consequence of one change in all instances of a group. Pods is the sum over
// the instances. Path and Reason are those of the first instance that has the consequence.
type Together struct {
	forecast.Consequence
	// Instances is the number of instances that have the consequence, and Of the number
	// of instances of the group.
	Instances int `json:"instances"`
	Of        int `json:"-"`
	// MinPods and MaxPods are the smallest and the largest number of Pods in one instance.
	// They are 0 if no Pods are counted.
	MinPods int `json:"minPods,omitempty"`
	MaxPods int `json:"maxPods,omitempty"`
}

// Title returns the effect in all instances:
//
//	12 rolling restarts of 30 Pods (2–5 each)
//	fights an autoscaler (in 3 of 12 instances)
func (t Together) Title() string {
	text := t.Consequence.Title()
	if t.Effect == forecast.RollingRestart && t.Instances > 1 {
		text = fmt.Sprintf("%d %s", t.Instances, strings.Replace(text, "restart", "restarts", 1))
	}
	var notes []string
	switch {
	case t.Instances < 2 || t.Pods == 0 || t.AllNodes:
	case t.MinPods == t.MaxPods:
		notes = append(notes, fmt.Sprintf("%d each", t.MinPods))
	default:
		notes = append(notes, fmt.Sprintf("%d–%d each", t.MinPods, t.MaxPods))
	}
	if t.Instances < t.Of {
		notes = append(notes, fmt.Sprintf("in %d of %s", t.Instances, source.Count(t.Of, "instance")))
	}
	if notes == nil {
		return text
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}

// String returns the consequence on one line.
func (t Together) String() string { return t.Title() + ": " + t.Reason }

// Together returns the consequences of the changes of a group over all its instances, for
// each object of the first one. Instances of a group change the same objects in the same
// order, but not with the same consequences: an autoscaler exists for only one of them.
func (r *Report) Together(g Group) [][]Together {
	all := make([][]Together, len(r.Shown(g).Objects))
	for _, i := range g.Instances {
		for k, o := range r.Instances[i].Objects {
			for _, c := range o.Consequences {
				all[k] = join(all[k], c, len(g.Instances))
			}
		}
	}
	for k := range all {
		slices.SortStableFunc(all[k], func(a, b Together) int { return cmp.Compare(b.Effect.Severity(), a.Effect.Severity()) })
	}
	return all
}

// Alone returns the consequences of an object that is in no group.
func (o *Object) Alone() []Together {
	var all []Together
	for _, c := range o.Consequences {
		all = join(all, c, 1)
	}
	return all
}

// join adds the consequence of another instance to those of the instances before it.
func join(all []Together, c forecast.Consequence, instances int) []Together {
	i := slices.IndexFunc(all, func(t Together) bool {
		return t.Effect == c.Effect && t.Rule == c.Rule && t.Path == c.Path && t.AllNodes == c.AllNodes
	})
	if i < 0 {
		return append(all, Together{Consequence: c, Instances: 1, Of: instances, MinPods: c.Pods, MaxPods: c.Pods})
	}
	t := &all[i]
	t.Instances++
	t.Pods += c.Pods
	t.MinPods, t.MaxPods = min(t.MinPods, c.Pods), max(t.MaxPods, c.Pods)
	return all
}
