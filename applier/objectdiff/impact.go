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
	// Graph is the name of the graph that the instance is rendered to. It only serves
	// to recognize the name in changes.
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
	// Diff has the changes of the first instance. Those of the others differ from them
	// only in the names of the instance.
	Diff Diff
	// ValuesDiffer is set if the same fields change, but to different values.
	ValuesDiffer bool
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
	Plan Plan
	// Changed is the number of instances that change.
	Changed  int
	families []*family            // in the order of their first instances
	index    map[[32]byte]*family // by the hash of the kind and the changed fields
}

// family is the groups of one kind that change the same fields.
type family struct {
	groups []*Group
	index  map[[32]byte]*Group // by the hash of the diff; nil if the groups were merged
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
	m.Changed++
	m.Plan.Add, m.Plan.Change, m.Plan.Remove = m.Plan.Add+p.Add, m.Plan.Change+p.Change, m.Plan.Remove+p.Remove
	k := in.Key(d)
	exact := k.Values
	f := m.family(k.Fields)
	g := f.index[exact]
	switch {
	case f.index == nil: // merged
		g = f.groups[0]
	case g == nil && len(f.groups) < maxGroupsOfFamily:
		g = &Group{Diff: d}
		f.groups, f.index[exact] = append(f.groups, g), g
	case g == nil: // too many groups: merge them
		g = f.groups[0]
		for _, other := range f.groups[1:] {
			g.Instances = append(g.Instances, other.Instances...)
		}
		f.groups, f.index, g.ValuesDiffer = f.groups[:1], nil, true
	}
	g.Instances = append(g.Instances, in)
}

// GroupKey identifies the way in which an instance changes, apart from the names of the
// instance.
type GroupKey struct {
	// Fields is equal for instances in which the same fields of the same objects change, and
	// Values for those in which they change to equal values, too.
	Fields, Values [sha256.Size]byte
}

// Key returns the key of an instance with its changes.
func (in Instance) Key(d Diff) GroupKey {
	r := d.Report()
	k := GroupKey{Values: in.hash(r)}
	r.dropValues()
	k.Fields = in.hash(r)
	return k
}

// GroupsOf numbers the groups of instances with these keys, from 1. They are the groups that
// an [Impact] has.
func GroupsOf(keys []GroupKey) []int {
	variants := map[[sha256.Size]byte]map[[sha256.Size]byte]bool{}
	for _, k := range keys {
		if variants[k.Fields] == nil {
			variants[k.Fields] = map[[sha256.Size]byte]bool{}
		}
		variants[k.Fields][k.Values] = true
	}
	numbers := map[GroupKey]int{}
	groups := make([]int, len(keys))
	for i, k := range keys {
		if len(variants[k.Fields]) > maxGroupsOfFamily {
			k.Values = [sha256.Size]byte{}
		}
		if numbers[k] == 0 {
			numbers[k] = len(numbers) + 1
		}
		groups[i] = numbers[k]
	}
	return groups
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

// dropValues reduces a report to the objects, fields and rules of warnings.
func (r *Report) dropValues() {
	for i := range r.Objects {
		o := &r.Objects[i]
		o.Object = nil
		for k := range o.Changes {
			o.Changes[k].Old, o.Changes[k].New = nil, nil
		}
		for k := range o.Warnings {
			o.Warnings[k].Message = ""
		}
	}
}

// hash returns a hash of the kind of the instance and of a report in which its names
// are replaced. So it is equal for two instances that change alike apart from their
// names.
func (in Instance) hash(r Report) [sha256.Size]byte {
	data, err := json.Marshal(r)
	if err != nil {
		// JSON cannot represent some values, such as infinity. Files cannot contain
		// them; if one occurs, any text that depends on the value serves as well.
		data = fmt.Append(nil, r)
	}
	text := string(data)
	// A namespace is replaced only where it is certainly one: as a field, in
	// namespace/name and in the DNS name of a Service.
	if ns := in.Namespace; ns != "" {
		text = strings.NewReplacer(`"namespace":"`+ns+`"`, `"namespace":"/"`, ns+"/"+in.Name, "//"+in.Name,
			ns+"/"+in.Graph, "//"+in.Graph, "."+ns+".svc", "./.svc").Replace(text)
	}
	// The name of the graph comes before that of the instance, which it usually contains.
	text = replaceWord(replaceWord(text, in.Graph, "/graph/"), in.Name, "/name/")
	return sha256.Sum256([]byte(in.Kind + text))
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
