package objectdiff

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
)

// Action is what happens to an object, or to a field of one.
type Action string

// The actions. Only fields are reordered: lists whose members are named and
// stand in another order.
const (
	Add     Action = "add"
	Modify  Action = "change"
	Remove  Action = "remove"
	Reorder Action = "reorder"
)

// Change is one field that differs. Old or New is missing as Action says; values
// may be secret, and are for the printers of this package.
type Change struct {
	Path   Path
	Action Action
	// By is who changed a live field since it was applied, "" where it is the
	// graph that changed.
	By       string
	old, new any
}

// ObjectDiff is what happens to one object.
type ObjectDiff struct {
	Key
	Action Action
	// Changes are in the order of the fields' names; of added and removed
	// objects there are none.
	Changes  []Change
	Warnings problem.List
	// Refused says that an apply would fail of this object, for a reason that is
	// among the warnings.
	Refused bool
	// Replaced says that the object is deleted and made anew.
	Replaced bool

	old, new *Object
}

// Diff is what would change in a cluster. Objects that stay as they are aren't
// in it; the others are in the order of namespace, kind, group and name.
type Diff struct {
	Objects []ObjectDiff
}

// Plan counts objects by what happens to them.
type Plan struct {
	Add    int `json:"add"`
	Change int `json:"change"`
	Remove int `json:"remove"`
	// Refused objects stay as they are; a comparison of files has none.
	Refused int `json:"refused,omitempty"`
}

// Plan counts the objects of a diff.
func (d Diff) Plan() Plan {
	var p Plan
	for _, o := range d.Objects {
		if o.Refused {
			p.Refused++
			continue
		}
		switch o.Action {
		case Add:
			p.Add++
		case Remove:
			p.Remove++
		default:
			p.Change++
		}
	}
	return p
}

// Compare pairs the objects of two sides. On each side a key must be unique; of
// several objects with one key the last counts.
func Compare(before, after []Object) Diff {
	index := func(objects []Object) map[Key]*Object {
		m := make(map[Key]*Object, len(objects))
		for i := range objects {
			m[objects[i].Key] = &objects[i]
		}
		return m
	}
	x, y := index(before), index(after)
	keys := slices.Collect(maps.Keys(x))
	for k := range y {
		if x[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, Key.compare)
	var d Diff
	for _, k := range keys {
		o := ObjectDiff{Key: k, old: x[k], new: y[k]}
		switch {
		case o.old == nil:
			o.Action = Add
		case o.new == nil:
			o.Action = Remove
		default:
			o.Action, o.Changes = Modify, changes(o.old, o.new)
			if len(o.Changes) == 0 {
				continue
			}
		}
		d.Objects = append(d.Objects, o)
	}
	warn(&d, after, before)
	return d
}

// changes compares two descriptions of one object. How a graph looks after it is
// compared if both sides have a graph; a move into a graph or out of one is one
// change.
func changes(a, b *Object) []Change {
	var c comparer
	c.maps(nil, a.body, b.body)
	at := Path{nodePath}
	switch {
	case a.node != nil && b.node != nil:
		c.maps(at, a.node, b.node)
	case a.node != nil:
		c.remove(at.with("graph"), a.graph)
	case b.node != nil:
		c.add(at.with("graph"), b.graph)
	}
	return c.changes
}

type comparer struct{ changes []Change }

func (c *comparer) value(p Path, a, b any) {
	if equal(a, b) {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			c.maps(p, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			c.lists(p, x, y)
			return
		}
	}
	c.changes = append(c.changes, Change{Path: p, Action: Modify, old: a, new: b})
}

func (c *comparer) maps(p Path, a, b map[string]any) {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		x, had := a[k]
		y, has := b[k]
		switch {
		case !had:
			c.add(p.with(k), y)
		case !has:
			c.remove(p.with(k), x)
		default:
			c.value(p.with(k), x, y)
		}
	}
}

// add notes a value that is new. The way to a lone value is part of the path.
func (c *comparer) add(p Path, v any) {
	p, v = lone(p, v)
	c.changes = append(c.changes, Change{Path: p, Action: Add, new: v})
}

func (c *comparer) remove(p Path, v any) {
	p, v = lone(p, v)
	c.changes = append(c.changes, Change{Path: p, Action: Remove, old: v})
}

func lone(p Path, v any) (Path, any) {
	for {
		m, ok := v.(map[string]any)
		if !ok || len(m) != 1 {
			return p, v
		}
		for k, inner := range m {
			p, v = p.with(k), inner
		}
	}
}

func (c *comparer) lists(p Path, a, b []any) {
	if x, y, ok := named(p.last(), a, b); ok {
		c.named(p, a, b, x, y)
		return
	}
	set := p.isSet()
	for _, pair := range align(a, b) {
		switch {
		case set && pair.old >= 0 && pair.new >= 0 && !equal(a[pair.old], b[pair.new]):
			c.changes = append(c.changes,
				Change{Path: p.with(pair.old), Action: Remove, old: a[pair.old]},
				Change{Path: p.with(pair.new), Action: Add, new: b[pair.new]})
		case pair.old < 0:
			c.changes = append(c.changes, Change{Path: p.with(pair.new), Action: Add, new: b[pair.new]})
		case pair.new < 0:
			c.changes = append(c.changes, Change{Path: p.with(pair.old), Action: Remove, old: a[pair.old]})
		default:
			c.value(p.with(pair.new), a[pair.old], b[pair.new])
		}
	}
}

// named compares lists whose members have names: in the new order, then those
// that are gone. Another order of those that stay is a change of its own: of
// init containers and variables it is meant, and any restarts Pods.
func (c *comparer) named(p Path, a, b []any, x, y []item) {
	at := map[string]int{}
	for i, it := range x {
		at[it.String()] = i
	}
	var kept []int
	var order []any
	stays := map[int]bool{}
	for j, it := range y {
		i, ok := at[it.String()]
		if !ok {
			c.changes = append(c.changes, Change{Path: p.with(it), Action: Add, new: b[j]})
			continue
		}
		kept, stays[i] = append(kept, i), true
		order = append(order, it.name())
		c.value(p.with(it), a[i], b[j])
	}
	var was []any
	for i, it := range x {
		if stays[i] {
			was = append(was, it.name())
			continue
		}
		c.changes = append(c.changes, Change{Path: p.with(it), Action: Remove, old: a[i]})
	}
	if !slices.IsSorted(kept) {
		c.changes = append(c.changes, Change{Path: p, Action: Reorder, old: was, new: order})
	}
}

// name is what an order of members calls one.
func (s item) name() string {
	if len(s.values) == 1 {
		return s.values[0]
	}
	text := s.String()
	return text[1 : len(text)-1]
}
