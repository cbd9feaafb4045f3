package objectdiff

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Instance identifies an instance whose objects change. Namespace is empty for an
// instance of a cluster-scoped kind. File is the path of its manifest, as
// messages show it.
type Instance struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	File      string `json:"file"`
	// Graph is the name of the graph that the instance is rendered to. It is only
	// needed to recognize the name in values.
	Graph string `json:"-"`
}

// String returns the instance with its file: apps/web.yaml: WebService default/web.
func (in Instance) String() string {
	return in.File + ": " + Key{Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}.String()
}

// Group is a set of instances of one kind that have the same changes. It has at
// least one instance.
type Group struct {
	// Instances are in the order in which they were added.
	Instances []Instance
	// Diff has the changes of each instance. In the diff of several instances, their
	// names are <name>, <namespace> and <graph>.
	Diff Diff
	// ValuesDiffer is set if the same fields change, but to different values. Diff then
	// has the changes of the first instance.
	ValuesDiffer bool

	first Diff // the changes of the first instance, with its names
}

// Impact groups instances by their changes. The zero value is ready for use. It
// keeps one diff per group, so its size depends on the number of different
// changes and not on the number of instances.
//
// Groups form two levels. A family has the instances in which the same fields
// change. Its groups have the instances in which they change to the same values.
// If 40 instances get the same new image, they are one group. If each gets an
// image of its own, they are merged into one group that has only the fields in
// common.
//
// An Impact must not be used by several goroutines at once.
type Impact struct {
	// Plan is the sum of the plans of all instances.
	Plan     Plan
	families []*family            // in the order of their first instances
	index    map[[32]byte]*family // by a hash of the kind and the changed fields
}

// family is the groups of one kind that change the same fields.
type family struct {
	groups []*Group
	index  map[[32]byte]*Group // by a hash of the diff; nil if the groups were merged
}

// maxGroupsOfFamily is the largest number of groups that differ only in values.
// Above it they are merged into one group with ValuesDiffer: a reader compares a
// few variants, but not dozens.
const maxGroupsOfFamily = 5

// Add adds an instance with its changes. A diff without objects is ignored.
func (m *Impact) Add(in Instance, d Diff) {
	if len(d.Objects) == 0 {
		return
	}
	p := d.Plan()
	m.Plan.Add, m.Plan.Change, m.Plan.Remove = m.Plan.Add+p.Add, m.Plan.Change+p.Change, m.Plan.Remove+p.Remove
	// Instances belong to one family if the same fields of the same objects change,
	// apart from their names.
	named := d.anonymized(names{in.Name, in.Namespace, in.Graph})
	f := m.family(hash(in.Kind, named.fields()))
	if len(f.groups) == 1 && f.groups[0].ValuesDiffer {
		f.groups[0].Instances = append(f.groups[0].Instances, in)
		return
	}
	// Within a family, instances belong to one group if the values are equal too. The
	// diff gets placeholders for names when the group gets its second instance.
	exact := hash(named.Report(), "")
	if g := f.index[exact]; g != nil {
		if len(g.Instances) == 1 {
			g.Diff = named
		}
		g.Instances = append(g.Instances, in)
		return
	}
	g := &Group{Instances: []Instance{in}, Diff: d, first: d}
	if f.groups = append(f.groups, g); len(f.groups) <= maxGroupsOfFamily {
		f.index[exact] = g
		return
	}
	// Too many groups: merge them, and forget their values.
	one := &Group{Diff: f.groups[0].first, ValuesDiffer: true}
	for _, other := range f.groups {
		one.Instances = append(one.Instances, other.Instances...)
	}
	f.groups, f.index = []*Group{one}, nil
}

// family returns the family of a key, and creates it if necessary. The key is a
// hash, since the text that it stands for may be long.
func (m *Impact) family(key [32]byte) *family {
	if f := m.index[key]; f != nil {
		return f
	}
	if m.index == nil {
		m.index = map[[32]byte]*family{}
	}
	f := &family{index: map[[32]byte]*Group{}}
	m.index[key] = f
	m.families = append(m.families, f)
	return f
}

// fields lists the objects, fields and warnings of a diff without values. Two
// diffs with the same text change the same fields in the same way.
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

// hash returns a hash of the JSON form of a, followed by b.
func hash(a any, b string) [32]byte {
	data, err := json.Marshal(a)
	if err != nil {
		// JSON cannot represent some values, such as infinity. Files cannot contain
		// them; if one occurs, any text that depends on the value serves as well.
		data = fmt.Append(nil, a)
	}
	return sha256.Sum256(append(append(data, 0), b...))
}

// Groups returns the groups, the largest first. Groups of one size are in the order
// in which they were added.
func (m *Impact) Groups() []Group {
	var all []Group
	for _, f := range m.families {
		for _, g := range f.groups {
			all = append(all, *g)
		}
	}
	slices.SortStableFunc(all, func(a, b Group) int { return len(b.Instances) - len(a.Instances) })
	return all
}

// Changed returns the number of instances that change.
func (m *Impact) Changed() int {
	n := 0
	for _, f := range m.families {
		for _, g := range f.groups {
			n += len(g.Instances)
		}
	}
	return n
}
