package forecast

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// leaf is a single field that differs. before is nil if it is added, after if it is
// removed.
type leaf struct {
	keys          []string
	path          string // for messages
	before, after any
	reordered     bool
}

// leaves returns the single fields of a change. A whole map that is added or removed
// has one leaf per field in it, because rules may concern only some of them.
func leaves(c objectdiff.Change) []leaf {
	l := leaf{keys: c.Path.Keys(), path: c.Path.String(), before: c.Old(), after: c.New(), reordered: c.Action == objectdiff.Reorder}
	if l.reordered {
		return []leaf{l}
	}
	return l.split()
}

// split returns the leaf, or those of the map in it. Lists are not split: their
// members are added or removed as a whole.
func (l leaf) split() []leaf {
	x, _ := l.before.(map[string]any)
	y, _ := l.after.(map[string]any)
	keys := slices.Collect(maps.Keys(x))
	for k := range y {
		if _, ok := x[k]; !ok {
			keys = append(keys, k)
		}
	}
	// A scalar that becomes a map, or the reverse, is one field.
	mixed := l.before != nil && l.after != nil && (x == nil || y == nil)
	if len(keys) == 0 || mixed {
		return []leaf{l}
	}
	slices.Sort(keys)
	var found []leaf
	for _, k := range keys {
		inner := leaf{keys: append(l.keys[:len(l.keys):len(l.keys)], k), path: l.path, before: x[k], after: y[k]}
		found = append(found, inner.split()...)
	}
	return found
}

// last returns the last key of the path.
func (l leaf) last() string {
	if len(l.keys) == 0 {
		return ""
	}
	return l.keys[len(l.keys)-1]
}
