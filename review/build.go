package review

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/forecast"
)

// pair is one unit on both sides. Either is nil if its side has none.
type pair struct {
	key        unitKey
	base, head *Unit
	// was and is are the objects of both sides.
	was, is []objectdiff.Object
	changed objectdiff.Diff
	// consequences are those of all objects of the cluster.
	consequences map[objectdiff.Key][]forecast.Consequence
}

// New compares two sides. The result depends only on the trees, not on their order. An
// error means that a graph has an object that can't be read, which rendering excludes.
//
// All objects of a cluster are compared at once, and not those of each instance alone: an
// object that moves from one instance to another is handed over and not removed, and a
// selector may match Pods of another instance.
func New(base, head Tree, inputs []Input) (*Report, error) {
	r := &Report{Base: base.Side, Head: head.Side, Inputs: inputs, Clusters: slices.Concat(base.Clusters, head.Clusters)}
	slices.Sort(r.Clusters)
	r.Clusters = slices.Compact(r.Clusters)
	pairs := pairUnits(&base, &head)
	known, unknown := r.separate(pairs, &base, &head)
	var all objectdiff.Diff
	for _, cluster := range slices.Concat([]string{""}, r.Clusters) {
		d, err := compare(of(cluster, known), of(cluster, unknown))
		if err != nil {
			return nil, err
		}
		all.Objects = append(all.Objects, d.Objects...)
	}
	r.Plan = all.Plan()
	r.addInstances(known)
	r.group()
	r.findDangers()
	return r, nil
}

// of returns the pairs of a cluster.
func of(cluster string, pairs []*pair) []*pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p *pair) bool { return p.key.cluster != cluster })
}

// compare compares the objects of one cluster, and gives its pairs their changes.
func compare(known, unknown []*pair) (objectdiff.Diff, error) {
	var before, after []objectdiff.Object
	for _, p := range known {
		if err := p.read(); err != nil {
			return objectdiff.Diff{}, err
		}
		before, after = append(before, p.was...), append(after, p.is...)
	}
	// What stays in the cluster although its instance is unknown: selectors of other
	// instances may match it. It is the same on both sides, so it is no change.
	for _, p := range unknown {
		objects, err := p.certain()
		if err != nil {
			return objectdiff.Diff{}, err
		}
		before, after = append(before, objects...), append(after, objects...)
	}
	d := objectdiff.Compare(before, after)
	assign(known, d)
	consequences := forecast.Of(d, before, after)
	for _, p := range known {
		p.consequences = consequences
	}
	return d, nil
}

// pairUnits returns the units of both sides in the order of a report.
func pairUnits(base, head *Tree) []*pair {
	all := map[unitKey]*pair{}
	at := func(k unitKey) *pair {
		if all[k] == nil {
			all[k] = &pair{key: k}
		}
		return all[k]
	}
	for i := range base.Units {
		u := &base.Units[i]
		at(u.key()).base = u
	}
	for i := range head.Units {
		u := &head.Units[i]
		at(u.key()).head = u
	}
	joinUnknown(all)
	return slices.SortedFunc(maps.Values(all), func(p, q *pair) int { return p.key.compare(q.key) })
}

// joinUnknown pairs units that can't be rendered with those of the other side that only have
// another namespace: without its platform, the namespace of a unit is not known.
func joinUnknown(all map[unitKey]*pair) {
	for key, p := range all {
		if key.namespace != "" || p.base != nil && p.head != nil || !p.base.unknown() && !p.head.unknown() {
			continue
		}
		for k, other := range all {
			if k.namespace == "" || k.group != key.group || k.kind != key.kind || k.name != key.name || k.cluster != key.cluster {
				continue
			}
			u := cmp.Or(p.base, p.head)
			switch {
			case other.base == nil && p.base != nil && other.head.Path == u.Path:
				other.base = p.base
			case other.head == nil && p.head != nil && other.base.Path == u.Path:
				other.head = p.head
			default:
				continue
			}
			delete(all, key)
			break
		}
	}
}

// certain returns the objects of the side that could be rendered, if there is one.
func (p *pair) certain() ([]objectdiff.Object, error) {
	for _, u := range []*Unit{p.head, p.base} {
		if u != nil && !u.unknown() {
			return u.objects()
		}
	}
	return nil, nil
}

// read fills in the objects of both sides. Most graphs are equal, and then both sides
// share one list, which is compared fast.
func (p *pair) read() error {
	if p.same() {
		objects, err := p.head.objects()
		p.was, p.is = objects, objects
		return p.named(err)
	}
	var err error
	if p.base != nil {
		if p.was, err = p.base.objects(); err != nil {
			return p.named(err)
		}
	}
	if p.head != nil {
		p.is, err = p.head.objects()
	}
	return p.named(err)
}

// named adds the name of the unit to an error.
func (p *pair) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p.key, err)
}

// same reports whether both sides have the same graph. The digest of the module changes
// with every edit and has no effect.
func (p *pair) same() bool {
	if p.base == nil || p.head == nil || p.base.Graph == nil || p.head.Graph == nil {
		return false
	}
	if p.base.Graph == p.head.Graph {
		return true
	}
	g := *p.head.Graph
	g.Spec.PlatformRef = p.base.Graph.Spec.PlatformRef
	return reflect.DeepEqual(p.base.Graph, &g)
}

// assign gives each changed object to its pair: the one that has it in the head, or had it
// in the base. An object that is handed over belongs to its new owner.
func assign(pairs []*pair, d objectdiff.Diff) {
	owner := map[objectdiff.Key]*pair{}
	for _, p := range pairs {
		for _, o := range p.was {
			owner[o.Key] = p
		}
	}
	for _, p := range pairs {
		for _, o := range p.is {
			owner[o.Key] = p
		}
	}
	for _, o := range d.Objects {
		if p := owner[o.Key]; p != nil {
			p.changed.Objects = append(p.changed.Objects, o)
		}
	}
}

// addInstances adds the pairs that change to the report, and counts the others.
func (r *Report) addInstances(pairs []*pair) {
	for _, p := range pairs {
		in := Instance{Action: objectdiff.Modify, Base: p.base, Head: p.head}
		from := p.head
		switch {
		case p.base == nil:
			r.Counts.Added++
			in.Action = objectdiff.Add
		case p.head == nil:
			r.Counts.Removed++
			in.Action, from = objectdiff.Remove, p.base
		case len(p.changed.Objects) == 0:
			r.Counts.Unchanged++
			continue
		default:
			r.Counts.Changed++
		}
		in.Instance, in.At, in.Path = from.Instance, from.At, from.Path
		if p.base != nil {
			in.Before = p.base.Graph
		}
		if p.head != nil {
			in.After = p.head.Graph
		}
		nodes := p.nodes()
		for _, o := range p.changed.Objects {
			in.Objects = append(in.Objects, Object{ObjectDiff: o, Consequences: p.consequences[o.Key], Node: nodes[o.Key], Module: p.module(nodes[o.Key], o.Action)})
		}
		r.Instances = append(r.Instances, in)
	}
}

// module returns the place of a node in the module of the head, or in that of the base for
// a removed object.
func (p *pair) module(node string, a objectdiff.Action) Place {
	u := p.head
	if a == objectdiff.Remove || u == nil {
		u = p.base
	}
	if u == nil {
		return Place{}
	}
	return u.Nodes[node]
}

// nodes returns the ids of the nodes by their objects. Those of the head win.
func (p *pair) nodes() map[objectdiff.Key]string {
	ids := map[objectdiff.Key]string{}
	for _, objects := range [][]objectdiff.Object{p.was, p.is} {
		for i := range objects {
			if id := objects[i].NodeID(); id != "" {
				ids[objects[i].Key] = id
			}
		}
	}
	// The objects of the report about an apply come from the cluster.
	if p.was == nil && p.is == nil && p.head != nil && p.head.Graph != nil {
		read := graph.ReadObjects(p.head.Graph)
		for i := range read.Nodes {
			n := &read.Nodes[i]
			gk := n.GroupKind()
			ids[objectdiff.Key{Group: gk.Group, Kind: gk.Kind, Namespace: n.Object.Namespace, Name: n.Object.Name, Cluster: graph.Cluster(p.head.Graph)}] = n.ID
		}
	}
	return ids
}
