package fields

import "slices"

// Set puts a value at a path of a decoded object, making the maps on the way,
// and the item of a list if the path ends at it and names it by its fields. It
// reports whether it could: other list items must exist.
func Set(object map[string]any, path Path, value any) bool {
	_, ok := set(object, path, value)
	return ok
}

// set returns what v is then.
func set(v any, path Path, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	key, rest := path[0], path[1:]
	list, isList := v.([]any)
	if name, isField := fieldOf(key, v); isField && !isList {
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
	switch at := position(list, key); {
	case at >= 0:
		below, ok := set(list[at], rest, value)
		if ok {
			list[at] = below
		}
		return list, ok
	case len(rest) == 0 && (kindOf(key) == "k" || kindOf(key) == "v"):
		return append(list, value), true
	}
	return v, false
}

// Unset removes a field, or an item of a list, of a decoded object, if it is there.
func Unset(object map[string]any, path Path) {
	if len(path) > 0 {
		unset(object, path)
	}
}

// unset returns what v is then.
func unset(v any, path Path) any {
	key, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		name, isField := fieldOf(key, v)
		below, ok := v[name]
		switch {
		case !isField || !ok:
		case len(rest) == 0:
			delete(v, name)
		default:
			v[name] = unset(below, rest)
		}
	case []any:
		at := position(v, key)
		switch {
		case at < 0:
		case len(rest) == 0:
			return slices.Delete(v, at, at+1)
		default:
			v[at] = unset(v[at], rest)
		}
	}
	return v
}
