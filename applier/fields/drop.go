package fields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// RemoveUnowned removes from a decoded object the fields that were held and aren't kept,
// as the API server does when nobody holds them any more; maps, lists and items
// that still hold something stay. It reports whether anything was removed.
func RemoveUnowned(object map[string]any, held, kept *fieldpath.Set) bool {
	var members []fieldpath.Path
	held.Difference(kept).Iterate(func(p fieldpath.Path) { members = append(members, p.Copy()) })
	// What lies deepest goes first, so that what is left empty is seen to be.
	slices.SortStableFunc(members, func(a, b fieldpath.Path) int { return len(b) - len(a) })
	leaves := held.Leaves()
	dropped := false
	for _, p := range members {
		// What an item is known by goes with the item.
		if n := len(p); n > 1 && p[n-2].Key != nil && isKey(p[n-1], *p[n-2].Key) {
			continue
		}
		if dropPath(object, p, leaves.Has(p)) {
			dropped = true
		}
	}
	return dropped
}

// dropPath removes what one path leads to. A leaf of the set goes with all that
// is in it.
func dropPath(object map[string]any, p fieldpath.Path, leaf bool) bool {
	var at any = object
	var put func(any)
	for i, element := range p {
		last := i == len(p)-1
		switch {
		case element.FieldName != nil:
			m, ok := at.(map[string]any)
			next, has := m[*element.FieldName]
			if !ok || !has {
				return false
			}
			if last {
				if !leaf && !empty(next, nil) {
					return false
				}
				delete(m, *element.FieldName)
				return true
			}
			put = func(v any) { m[*element.FieldName] = v }
			at = next
		default:
			list, ok := at.([]any)
			j := indexOf(list, element)
			if !ok || j < 0 {
				return false
			}
			if last {
				if element.Key != nil && !empty(list[j], element.Key) || put == nil {
					return false
				}
				put(slices.Delete(list, j, j+1))
				return true
			}
			at = list[j]
			put = func(v any) { list[j] = v }
		}
	}
	return false
}

func isKey(element fieldpath.PathElement, keys value.FieldList) bool {
	return element.FieldName != nil && slices.ContainsFunc(keys, func(k value.Field) bool { return k.Name == *element.FieldName })
}

// empty says whether nothing is left in a map or list but its keys.
func empty(v any, keys *value.FieldList) bool {
	switch v := v.(type) {
	case map[string]any:
		left := len(v)
		if keys != nil {
			for _, key := range *keys {
				if _, ok := v[key.Name]; ok {
					left--
				}
			}
		}
		return left == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// indexOf finds the item of a list that an element names, -1 if there is none.
func indexOf(list []any, element fieldpath.PathElement) int {
	switch {
	case element.Key != nil:
		return slices.IndexFunc(list, func(v any) bool {
			m, _ := v.(map[string]any)
			for _, key := range *element.Key {
				if got, ok := m[key.Name]; !ok || !same(got, key.Value.Unstructured()) {
					return false
				}
			}
			return m != nil
		})
	case element.Value != nil:
		return slices.IndexFunc(list, func(v any) bool { return same(v, (*element.Value).Unstructured()) })
	case element.Index != nil && *element.Index < len(list):
		return *element.Index
	}
	return -1
}
