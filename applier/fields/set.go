package fields

import (
	"encoding/json"
	"strings"
)

// match finds the key of a set that stands for what a path's key names in the
// live value: an author may name an item by its index, by a field that isn't a
// key of its list, or by some of the keys, as containerPort=80 does for a port
// of containerPort and protocol.
func match(set map[string]any, key string, live any) (string, bool) {
	if _, ok := set[key]; ok {
		return key, true
	}
	if name, ok := fieldOf(key, live); ok {
		_, ok = set["f:"+name]
		return "f:" + name, ok
	}
	value, found := item(key, live)
	text, _ := strings.CutPrefix(key, "k:")
	var want map[string]any
	if !found && json.Unmarshal([]byte(text), &want) != nil {
		return "", false
	}
	for k := range set {
		kind, text, _ := strings.Cut(k, ":")
		switch kind {
		case "k":
			var keys map[string]any
			if json.Unmarshal([]byte(text), &keys) != nil {
				continue
			}
			if m, isMap := value.(map[string]any); found && isMap && matches(m, keys) || !found && matches(keys, want) {
				return k, true
			}
		case "v":
			var v any
			if found && json.Unmarshal([]byte(text), &v) == nil && same(v, value) {
				return k, true
			}
		}
	}
	return "", false
}

// remove takes a path, and everything below it, out of a set; and with it what
// is empty above it then, so that it makes no difference whether it was there.
// live is the value that the set is about.
func remove(set map[string]any, path Path, live any) {
	if len(path) == 0 {
		return
	}
	key, ok := match(set, path[0], live)
	if !ok {
		return
	}
	if len(path) == 1 {
		delete(set, key)
		return
	}
	below, _ := set[key].(map[string]any)
	if len(below) == 0 {
		return // the value above the path is held as a whole
	}
	value, _ := item(key, live)
	remove(below, path[1:], value)
	if _, self := below["."]; len(below) == 0 || self && len(below) == 1 {
		delete(set, key)
	}
}
