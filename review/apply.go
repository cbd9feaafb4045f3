package review

import (
	"cmp"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/forecast"
)

// NewApply returns the report about an apply of the graphs of head. d are its changes and
// consequences what they do. The caller finds them out with a dry run in the cluster, which is
// the base.
//
// Every graph of head counts as changed or unchanged: the cluster has no instance to compare with.
// removed are graphs that only the cluster has, and whose removal is part of d.
func NewApply(base Side, head Tree, removed []Unit, d objectdiff.Diff, consequences map[objectdiff.Key][]forecast.Consequence) *Report {
	r := &Report{Base: base, Head: head.Side, Plan: d.Plan()}
	pairs := pairUnits(&Tree{Units: append(unknownGraphs(head.Units), removed...)}, &head)
	graphs := map[string]*pair{}
	for _, p := range pairs {
		g := cmp.Or(p.head, p.base).Graph
		graphs[g.Namespace+"/"+g.Name], p.consequences = p, consequences
	}
	for _, o := range d.Objects {
		if p := graphs[o.Graph()]; p != nil {
			p.changed.Objects = append(p.changed.Objects, o)
		}
	}
	r.addInstances(pairs)
	r.group()
	r.findDangers()
	return r
}

// unknownGraphs returns units without their graphs.
func unknownGraphs(units []Unit) []Unit {
	var all []Unit
	for _, u := range units {
		u.Graph = nil
		all = append(all, u)
	}
	return all
}
