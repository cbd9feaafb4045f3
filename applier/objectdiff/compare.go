package objectdiff

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"
)

// Compare pairs the objects of two sides and returns their differences with
// warnings. The keys of each side must be unique; otherwise the last object with
// a key counts.
//
// An object that was renamed is one that is removed and another that is added.
// The warning RuleRenamed links the two.
func Compare(before, after []Object) Diff {
	index := func(objects []Object) map[Key]*Object {
		m := make(map[Key]*Object, len(objects))
		for i := range objects {
			m[objects[i].Key] = &objects[i]
		}
		return m
	}
	x, y := index(before), index(after)
	// The union of the keys of both sides.
	keys := slices.Collect(maps.Keys(x))
	for k := range y {
		if x[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, Key.Compare)
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
			if len(o.Changes) == 0 { // unchanged objects are not part of a diff
				continue
			}
		}
		d.Objects = append(d.Objects, o)
	}
	addWarnings(&d, before, after)
	return d
}

// Equal reports whether two objects differ in nothing but their files.
func (o Object) Equal(other Object) bool {
	o.File = other.File
	return reflect.DeepEqual(o, other)
}

// addWarnings adds warnings to the objects of a diff. It has all objects of both
// sides, because selectors may match objects that do not change. The warnings of
// each object are sorted by path; warnings of one path stay in the order in which
// they were found.
func addWarnings(d *Diff, before, after []Object) {
	for i := range d.Objects {
		o := &d.Objects[i]
		switch o.Action {
		case Add:
			warnDuplicates(o)
		case Modify:
			warnDuplicates(o)
			warnImmutable(o)
			warnStorage(o)
			warnScaledToZero(o)
			warnSelectors(o, before, after)
		case Remove:
			warnRemoved(o)
			warnServices(o, before, after)
		}
	}
	// A rename concerns two objects, so it is looked for after the others.
	warnRenamed(d, before)
	for i := range d.Objects {
		slices.SortStableFunc(d.Objects[i].Warnings, func(a, b problem.Problem) int {
			return cmp.Compare(a.Path, b.Path)
		})
	}
}

// changes compares two descriptions of one object. Node settings are compared
// field by field if both sides have a graph. A move into a graph or out of one is
// one change: the path (node).graph is added or removed.
func changes(a, b *Object) []Change {
	c := comparer{quantities: hasQuantities(a.Key)}
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

// comparer collects the changes between two values.
type comparer struct {
	changes []Change
	// quantities is set if equal quantities are equal values, however they are written.
	quantities bool
}

// value compares two values at a path. Values of different types are one change,
// and so are two scalars that differ.
func (c *comparer) value(p Path, a, b any) {
	if reflect.DeepEqual(a, b) || c.quantities && isQuantity(p.keys()) && sameQuantity(a, b) {
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

// maps compares two maps key by key, in sorted order, so that the output does not depend
// on the iteration order of maps.
func (c *comparer) maps(p Path, a, b map[string]any) {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		x, inOld := a[k]
		y, inNew := b[k]
		switch {
		case !inOld:
			c.add(p.with(k), y)
		case !inNew:
			c.remove(p.with(k), x)
		default:
			c.value(p.with(k), x, y)
		}
	}
}

// add records a new value. Maps with a single key become part of the path, so
// that the report has one line for it: spec.strategy.type: Recreate.
func (c *comparer) add(p Path, v any) {
	p, v = unwrap(p, v)
	c.changes = append(c.changes, Change{Path: p, Action: Add, new: v})
}

// remove records a value that is gone. Maps with a single key become part of the path.
func (c *comparer) remove(p Path, v any) {
	p, v = unwrap(p, v)
	c.changes = append(c.changes, Change{Path: p, Action: Remove, old: v})
}

// unwrap follows maps with a single key: {a: {b: 1}} at p is 1 at p.a.b.
func unwrap(p Path, v any) (Path, any) {
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

// lists compares lists by the keys of their members, if they have keys. Otherwise
// it aligns equal and similar members. A new order of members without keys is
// reported as members that are added and removed, or changed.
func (c *comparer) lists(p Path, a, b []any) {
	if x, y, ok := keyed(p.last(), a, b); ok {
		c.keyedLists(p, a, b, x, y)
		return
	}
	set := p.isSet()
	// Indexes in paths are those of the side that has the member; members on both
	// sides have the index in b.
	for _, pair := range align(a, b) {
		switch {
		// In a set, the members of a pair are independent of each other.
		case set && pair.old >= 0 && pair.new >= 0 && !reflect.DeepEqual(a[pair.old], b[pair.new]):
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

// keyedLists compares lists whose members x and y have keys: the members of b in
// their order, and then the removed ones. A different order of the members that
// remain is a change of its own, because the order of init containers and
// variables has a meaning, and any new order restarts Pods.
func (c *comparer) keyedLists(p Path, a, b []any, x, y []member) {
	index := map[string]int{}
	for i, m := range x {
		index[m.String()] = i
	}
	var kept []int // indexes in a, in the order of b
	var order []any
	remains := map[int]bool{}
	for j, m := range y {
		i, ok := index[m.String()]
		if !ok {
			c.changes = append(c.changes, Change{Path: p.with(m), Action: Add, new: b[j]})
			continue
		}
		kept, remains[i] = append(kept, i), true
		order = append(order, m.name())
		c.value(p.with(m), a[i], b[j])
	}
	var oldOrder []any
	for i, m := range x {
		if remains[i] {
			oldOrder = append(oldOrder, m.name())
			continue
		}
		c.changes = append(c.changes, Change{Path: p.with(m), Action: Remove, old: a[i]})
	}
	if !slices.IsSorted(kept) {
		c.changes = append(c.changes, Change{Path: p, Action: Reorder, old: oldOrder, new: order})
	}
}
