package fields

import "slices"

// Set puts a value at a path of a decoded object, making the maps on the way.
// It reports whether it could: list items must exist.
func Set(object map[string]any, path Path, value any) bool {
	var at any = object
	for i, key := range path {
		last := i == len(path)-1
		m, isMap := at.(map[string]any)
		name, isField := cutField(key)
		if isMap && isField {
			if last {
				m[name] = value
				return true
			}
			next, ok := m[name]
			if !ok || next == nil {
				next = map[string]any{}
				m[name] = next
			}
			at = next
			continue
		}
		list, _ := at.([]any)
		j := slices.IndexFunc(list, func(v any) bool {
			found, ok := item(key, []any{v})
			return ok && found != nil
		})
		if len(key) > 2 && key[:2] == "i:" {
			_, ok := item(key, at)
			j = index(key, ok)
		}
		if j < 0 {
			return false
		}
		if last {
			list[j] = value
			return true
		}
		at = list[j]
	}
	return false
}

// Unset removes a field of a decoded object, if it is there.
func Unset(object map[string]any, path Path) {
	var at any = object
	for i, key := range path {
		if i == len(path)-1 {
			if name, ok := cutField(key); ok {
				if m, ok := at.(map[string]any); ok {
					delete(m, name)
				}
			}
			return
		}
		var ok bool
		if at, ok = item(key, at); !ok {
			return
		}
	}
}

func cutField(key string) (string, bool) {
	if len(key) > 2 && key[:2] == "f:" {
		return key[2:], true
	}
	return "", false
}

func index(key string, ok bool) int {
	if !ok {
		return -1
	}
	n := 0
	for _, c := range key[2:] {
		n = n*10 + int(c-'0')
	}
	return n
}
