package fields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Value returns the value at a path of a live object, and whether the object has
// it. The value is not copied.
func Value(obj *unstructured.Unstructured, path Path) (any, bool) {
	var v any = obj.Object
	for _, key := range path {
		var ok bool
		if v, ok = child(key, v); !ok {
			return nil, false
		}
	}
	return v, true
}

// SetValue sets the value at a path of a decoded object and reports whether it
// could. It creates missing maps on the way. A missing list item is appended
// only if the path ends at the item and identifies it by its fields or its
// value; any other list item must exist. The object is unchanged on failure.
func SetValue(object map[string]any, path Path, value any) bool {
	_, ok := set(object, path, value)
	return ok
}

// set sets the value at a path below v. It returns what has to replace v in its
// parent: v itself unless v was nil or a list that grew.
func set(v any, path Path, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	key, rest := path[0], path[1:]
	list, isList := v.([]any)
	if name, isField := fieldName(key, v); isField && !isList {
		m, isMap := v.(map[string]any)
		if v != nil && !isMap {
			return v, false
		}
		below, ok := set(m[name], rest, value)
		if !ok {
			return v, false
		}
		if m == nil {
			m = map[string]any{}
		}
		m[name] = below
		return m, true
	}
	if v != nil && !isList {
		return v, false
	}
	switch i := itemIndex(list, key); {
	case i >= 0:
		below, ok := set(list[i], rest, value)
		if ok {
			list[i] = below
		}
		return list, ok
	case len(rest) == 0 && (keyKind(key) == "k" || keyKind(key) == "v"):
		return append(list, value), true
	}
	return v, false
}

// RemoveValue removes the field or list item at a path of a decoded object. It
// does nothing if the object doesn't have it.
func RemoveValue(object map[string]any, path Path) {
	if len(path) > 0 {
		removeValue(object, path)
	}
}

// removeValue removes what a path below v names. It returns what has to replace
// v in its parent, because removing an item makes a new slice.
func removeValue(v any, path Path) any {
	key, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		name, isField := fieldName(key, v)
		below, ok := v[name]
		switch {
		case !isField || !ok:
		case len(rest) == 0:
			delete(v, name)
		default:
			v[name] = removeValue(below, rest)
		}
	case []any:
		i := itemIndex(v, key)
		switch {
		case i < 0:
		case len(rest) == 0:
			return slices.Delete(v, i, i+1)
		default:
			v[i] = removeValue(v[i], rest)
		}
	}
	return v
}
