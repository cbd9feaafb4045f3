package fields

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// project gives the part of a live value that a set of FieldsV1 names: by the
// set's own keys, "f:name", `k:{"name":"x"}`, "v:value" and "i:0". A key without
// children stands for the whole value, and "." for the fact that there is one.
func project(set map[string]any, live any) any {
	if len(set) == 0 {
		return live
	}
	held := make(map[string]any, len(set))
	for key, below := range set {
		if key == "." {
			held[key] = live != nil
			continue
		}
		value, ok := item(key, live)
		if !ok {
			held[key] = nil
			continue
		}
		children, _ := below.(map[string]any)
		held[key] = project(children, value)
	}
	return held
}

// item finds what one key of a path or of FieldsV1 names.
func item(key string, live any) (any, bool) {
	switch live := live.(type) {
	case map[string]any:
		if name, ok := fieldOf(key, live); ok {
			v, ok := live[name]
			return v, ok
		}
	case []any:
		if at := position(live, key); at >= 0 {
			return live[at], true
		}
	}
	return nil, false
}

func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, ":")
	return kind
}

// fieldOf is the name of the field that a key names. A number of a JSON pointer
// may be that of a field.
func fieldOf(key string, live any) (string, bool) {
	kind, name, ok := strings.Cut(key, ":")
	if _, isMap := live.(map[string]any); kind == "i" && isMap {
		return name, ok
	}
	return name, ok && kind == "f"
}

// position is the index of what a key names in a list, -1 if there is none.
func position(list []any, key string) int {
	kind, text, _ := strings.Cut(key, ":")
	switch kind {
	case "i":
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(list) {
			return i
		}
	case "k":
		var keys map[string]any
		if json.Unmarshal([]byte(text), &keys) != nil {
			return -1
		}
		return slices.IndexFunc(list, func(v any) bool {
			m, _ := v.(map[string]any)
			return m != nil && matches(m, keys)
		})
	case "v":
		var want any
		if json.Unmarshal([]byte(text), &want) == nil {
			return slices.IndexFunc(list, func(v any) bool { return same(v, want) })
		}
	}
	return -1
}

func matches(m, keys map[string]any) bool {
	for name, want := range keys {
		if got, ok := m[name]; !ok || !same(got, want) {
			return false
		}
	}
	return true
}

// same compares scalars; numbers by their value, since one side was decoded as
// int64 where the other has float64.
func same(a, b any) bool {
	x, xok := number(a)
	y, yok := number(b)
	if xok && yok {
		return x == y
	}
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Value gives the value at a path of a live object.
func Value(obj *unstructured.Unstructured, path Path) (any, bool) {
	var v any = obj.Object
	for _, key := range path {
		var ok bool
		if v, ok = item(key, v); !ok {
			return nil, false
		}
	}
	return v, true
}
