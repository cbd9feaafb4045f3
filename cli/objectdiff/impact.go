package objectdiff

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Instance is an instance whose objects differ.
type Instance struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	File      string `json:"file"`
	// Graph is the name of its graph.
	Graph string `json:"-"`
}

func (in Instance) String() string {
	return in.File + ": " + Key{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}.String()
}

// Group is instances of one kind that change alike.
type Group struct {
	Instances []Instance
	// Diff is what changes for each of them. The names of several instances are
	// <name>, <namespace> and <graph> in it.
	Diff Diff
	// Values says that the same fields change, but not to the same values. Diff is
	// then that of the first instance.
	Values bool

	first Diff // of the first instance, in its own names
}

// Impact gathers instances into groups. The zero value is ready. It keeps one
// diff for each group, so that it stays small however many instances there are.
type Impact struct {
	Plan   Plan
	shapes []*shape
	index  map[[32]byte]*shape
}

// shape is the groups of one kind in which the same fields change.
type shape struct {
	groups []*Group
	index  map[[32]byte]*Group
}

// maxVariants is how many groups may differ in values alone; past it they are one.
const maxVariants = 5

// Add takes an instance and what changes for it. Diffs without objects count for
// nothing.
func (m *Impact) Add(in Instance, d Diff) {
	if len(d.Objects) == 0 {
		return
	}
	p := d.Plan()
	m.Plan.Add, m.Plan.Change, m.Plan.Remove = m.Plan.Add+p.Add, m.Plan.Change+p.Change, m.Plan.Remove+p.Remove
	named := d.anonymous(Names{in.Name, in.Namespace, in.Graph})
	s := m.shape(sum(in.Kind, named.fields()))
	if len(s.groups) == 1 && s.groups[0].Values {
		s.groups[0].Instances = append(s.groups[0].Instances, in)
		return
	}
	exact := sum(named.Report(), "")
	if g := s.index[exact]; g != nil {
		if len(g.Instances) == 1 {
			g.Diff = named
		}
		g.Instances = append(g.Instances, in)
		return
	}
	g := &Group{Instances: []Instance{in}, Diff: d, first: d}
	if s.groups = append(s.groups, g); len(s.groups) <= maxVariants {
		s.index[exact] = g
		return
	}
	one := &Group{Diff: s.groups[0].first, Values: true}
	for _, other := range s.groups {
		one.Instances = append(one.Instances, other.Instances...)
	}
	s.groups, s.index = []*Group{one}, nil
}

func (m *Impact) shape(key [32]byte) *shape {
	if s := m.index[key]; s != nil {
		return s
	}
	if m.index == nil {
		m.index = map[[32]byte]*shape{}
	}
	s := &shape{index: map[[32]byte]*Group{}}
	m.index[key] = s
	m.shapes = append(m.shapes, s)
	return s
}

// fields lists what changes without the values: the shape of a diff.
func (d Diff) fields() string {
	var b strings.Builder
	for _, o := range d.Objects {
		fmt.Fprintf(&b, "%s %s %s\n", o.Action, o.Group, o.Key)
		for _, c := range o.Changes {
			fmt.Fprintf(&b, "\t%s %s\n", c.Action, c.Path)
		}
		for _, w := range o.Warnings {
			fmt.Fprintf(&b, "\t! %s %s\n", w.Rule, w.Path)
		}
	}
	return b.String()
}

func sum(a any, b string) [32]byte {
	data, err := json.Marshal(a)
	if err != nil {
		// What JSON can't say, such as an endless number, no file can either.
		data = fmt.Append(nil, a)
	}
	return sha256.Sum256(append(append(data, 0), b...))
}

// Groups gives the groups, the largest first, and of one size in the order in
// which their first instances came.
func (m *Impact) Groups() []Group {
	var all []Group
	for _, s := range m.shapes {
		for _, g := range s.groups {
			all = append(all, *g)
		}
	}
	slices.SortStableFunc(all, func(a, b Group) int { return len(b.Instances) - len(a.Instances) })
	return all
}

// Changed counts the instances.
func (m *Impact) Changed() int {
	n := 0
	for _, s := range m.shapes {
		for _, g := range s.groups {
			n += len(g.Instances)
		}
	}
	return n
}
