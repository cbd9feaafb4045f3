package fields

import (
	"encoding/json"
	"strings"
)

// lookup finds a key in a set; an associative key may name only some of the
// keys that the set has, as name=web does for a port of name and protocol.
func lookup(set map[string]any, key string) (map[string]any, bool) {
	if v, ok := set[key]; ok {
		below, _ := v.(map[string]any)
		return below, true
	}
	text, ok := strings.CutPrefix(key, "k:")
	if !ok {
		return nil, false
	}
	var want map[string]any
	if json.Unmarshal([]byte(text), &want) != nil {
		return nil, false
	}
	for k, v := range set {
		text, ok := strings.CutPrefix(k, "k:")
		var keys map[string]any
		if ok && json.Unmarshal([]byte(text), &keys) == nil && matches(keys, want) {
			below, _ := v.(map[string]any)
			return below, true
		}
	}
	return nil, false
}

// remove takes a path, and everything below it, out of a set; and with it what
// is empty above it then, so that it makes no difference whether it was there.
func remove(set map[string]any, path Path) {
	if len(path) == 0 {
		return
	}
	key := path[0]
	below, ok := lookup(set, key)
	if !ok {
		return
	}
	if len(path) == 1 {
		delete(set, key)
		return
	}
	if len(below) == 0 {
		return // the value above the path is held as a whole
	}
	remove(below, path[1:])
	if _, self := below["."]; len(below) == 0 || self && len(below) == 1 {
		delete(set, key)
	}
}
