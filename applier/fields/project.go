package fields

import (
	"encoding/json"
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

// item finds what one key of FieldsV1 names.
func item(key string, live any) (any, bool) {
	kind, rest, ok := strings.Cut(key, ":")
	if !ok {
		return nil, false
	}
	switch kind {
	case "f":
		m, _ := live.(map[string]any)
		v, ok := m[rest]
		return v, ok
	case "k":
		return keyed(rest, live)
	case "v":
		return member(rest, live)
	case "i":
		list, _ := live.([]any)
		i, err := strconv.Atoi(rest)
		if err != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		return list[i], true
	}
	return nil, false
}

// keyed finds the item of an associative list whose keys have these values.
func keyed(text string, live any) (any, bool) {
	var keys map[string]any
	if json.Unmarshal([]byte(text), &keys) != nil {
		return nil, false
	}
	list, _ := live.([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		if m != nil && matches(m, keys) {
			return v, true
		}
	}
	return nil, false
}

func matches(m, keys map[string]any) bool {
	for name, want := range keys {
		if got, ok := m[name]; !ok || !same(got, want) {
			return false
		}
	}
	return true
}

// member finds a value of a set.
func member(text string, live any) (any, bool) {
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return nil, false
	}
	list, _ := live.([]any)
	for _, v := range list {
		if same(v, want) {
			return v, true
		}
	}
	return nil, false
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
