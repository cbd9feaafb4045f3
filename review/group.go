package review

import (
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source"
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

// Listed is an instance of a group, which stands for the same document in all of its clusters.
type Listed struct {
	*Instance
	// Clusters are the names of the clusters, or nil, and Where tells them, after a space.
	Clusters []string
	Where    string
}

// Listed returns the instances of a group, each of them once.
func (r *Report) Listed(g Group) []Listed {
	var all []Listed
	for _, i := range g.Instances {
		in := &r.Instances[i]
		last := len(all) - 1
		if last < 0 || in.name() != all[last].name() || in.At != all[last].At {
			all, last = append(all, Listed{Instance: in}), last+1
		}
		if l := &all[last]; in.Cluster != "" {
			l.Clusters = append(l.Clusters, in.Cluster)
			l.Where = " " + source.InClusters(l.Clusters, r.Clusters)
		}
	}
	return all
}
