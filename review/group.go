package review

import (
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// group fills in r.Groups: the instances that change alike. The instances must be there.
//
// An instance that is added or removed is never in a group with one that changes.
func (r *Report) group() {
	keys := make([]objectdiff.GroupKey, len(r.Instances))
	for i := range r.Instances {
		in := &r.Instances[i]
		keys[i] = in.Key(in.diff())
		// The first byte of a hash serves as well as any other to tell actions apart.
		keys[i].Fields[0] ^= in.Action[0]
	}
	numbers := objectdiff.GroupsOf(keys)
	groups := map[int]*Group{}
	var order []*Group
	for i, n := range numbers {
		g := groups[n]
		if g == nil {
			g = &Group{}
			groups[n] = g
			order = append(order, g)
		} else if keys[i].Values != keys[g.Instances[0]].Values {
			g.ValuesDiffer = true
		}
		g.Instances = append(g.Instances, i)
	}
	slices.SortStableFunc(order, func(a, b *Group) int { return len(b.Instances) - len(a.Instances) })
	for n, g := range order {
		for _, i := range g.Instances {
			r.Instances[i].Group = n
		}
		g.Title = r.title(*g)
		r.Groups = append(r.Groups, *g)
	}
}

// diff returns the changed objects of an instance.
func (in *Instance) diff() objectdiff.Diff {
	d := objectdiff.Diff{Objects: make([]objectdiff.ObjectDiff, len(in.Objects))}
	for i, o := range in.Objects {
		d.Objects[i] = o.ObjectDiff
	}
	return d
}

// Shown returns the instance of a group whose changes stand for all of them.
func (r *Report) Shown(g Group) *Instance { return &r.Instances[g.Instances[0]] }
