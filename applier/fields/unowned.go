package fields

import (
	"maps"
	"slices"
)

// RemoveUnowned removes from a decoded object the fields that are in owned and
// not in kept, as the API server does when a field loses its last owner. Maps,
// lists and items that still have content stay. It reports whether it removed
// anything.
func RemoveUnowned(object map[string]any, owned, kept Set) bool {
	_, removed := removeUnowned(object, owned.difference(kept), owned, kept, nil)
	return removed
}

// removeUnowned removes the fields of gone from v and returns what has to replace
// v in its parent. owned is the node of v in the set of all formerly owned
// fields, and kept that in the set of the fields that have other owners. identity has the fields that identify v if v is a list item: they are
// removed only together with the item.
//
// The fields below a key come before the key itself, so that a map that is left
// empty is seen to be empty.
func removeUnowned(v any, gone, owned, kept Set, identity map[string]any) (any, bool) {
	removed := false
	// Backward, so that removing an item by its index moves none that is still to come.
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(gone))) {
		value, ok := child(key, v)
		if !ok || key == selfKey {
			continue
		}
		itemIdentity, _ := identityOf(key)
		below, changed := removeUnowned(value, gone.below(key), owned.below(key), kept.below(key), itemIdentity)
		if changed {
			v, _ = set(v, Path{key}, below)
			removed = true
		}
		if !gone.below(key).hasSelf() {
			continue
		}
		switch keyKind(key) {
		case "f":
			name, _ := fieldName(key, v)
			if _, identifies := identity[name]; identifies {
				continue
			}
			// A field that was owned as a whole goes with all of its content. A map looks the
			// same if others have taken over everything in it, which stays.
			_, shared := kept[key]
			if (shared || !owned.below(key).isLeaf()) && !isEmpty(below, nil) {
				continue
			}
		case "k":
			if !isEmpty(below, itemIdentity) {
				continue
			}
		}
		v = removeValue(v, Path{key})
		removed = true
	}
	return v, removed
}

// isEmpty reports whether v is a map or list without content. The fields of
// identity don't count as content.
func isEmpty(v any, identity map[string]any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if _, identifies := identity[name]; !identifies {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}
