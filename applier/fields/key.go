package fields

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// child returns the value that one key of a [Path] or a [Set] names in v, a
// decoded JSON value, and whether v has it.
func child(key string, v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := fieldName(key, v); ok {
			value, ok := v[name]
			return value, ok
		}
	case []any:
		if i := itemIndex(v, key); i >= 0 {
			return v[i], true
		}
	}
	return nil, false
}

// keyKind returns the part of a key before the colon: "f", "k", "v" or "i".
func keyKind(key string) string {
	kind, _, _ := strings.Cut(key, ":")
	return kind
}

// fieldName returns the name of the field that a key names, and false if the key
// names a list item. An index names a field if v is a map, because a JSON
// pointer doesn't tell /0 the index from /0 the field name.
func fieldName(key string, v any) (string, bool) {
	kind, name, ok := strings.Cut(key, ":")
	if _, isMap := v.(map[string]any); kind == "i" && isMap {
		return name, ok
	}
	return name, ok && kind == "f"
}

// itemIndex returns the index of the list item that a key names, or -1 if the
// list has no such item.
func itemIndex(list []any, key string) int {
	kind, text, _ := strings.Cut(key, ":")
	switch kind {
	case "i":
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(list) {
			return i
		}
	case "k":
		identity, ok := identityOf(key)
		if !ok {
			return -1
		}
		return slices.IndexFunc(list, func(v any) bool {
			m, _ := v.(map[string]any)
			return m != nil && hasIdentity(m, identity)
		})
	case "v":
		var want any
		if json.Unmarshal([]byte(text), &want) == nil {
			return slices.IndexFunc(list, func(v any) bool { return sameScalar(v, want) })
		}
	}
	return -1
}

// identityOf returns the identifying fields of a key of the form
// k:{"name":"web"}, and false for any other key.
func identityOf(key string) (map[string]any, bool) {
	text, ok := strings.CutPrefix(key, "k:")
	if !ok {
		return nil, false
	}
	var identity map[string]any
	return identity, json.Unmarshal([]byte(text), &identity) == nil
}

// hasIdentity reports whether m has all fields of identity with the same values.
func hasIdentity(m, identity map[string]any) bool {
	for name, want := range identity {
		if got, ok := m[name]; !ok || !sameScalar(got, want) {
			return false
		}
	}
	return true
}

// sameScalar reports whether a and b are the same scalar; maps and lists are
// never the same. Numbers are compared by value, because client-go decodes a
// whole number as int64 and encoding/json decodes it as float64.
func sameScalar(a, b any) bool {
	x, xok := jsonvalue.Number(a)
	y, yok := jsonvalue.Number(b)
	if xok && yok {
		return x == y
	}
	return isScalar(a) && isScalar(b) && a == b
}

// isScalar reports whether a decoded JSON value is neither a map nor a list.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
