package reference

import (
	"fmt"
	"slices"
	"strings"
)

// The keys that make a map a late reference.
const (
	FromKey     = "$from"
	GenerateKey = "$generate"
)

// From is a value that is read from other nodes: {"$from": Expr}.
type From struct {
	Path Path
	Expr string
}

// Malformed is a map that uses one of the two keys, and is no late reference.
type Malformed struct {
	Path    Path
	Message string
	Hint    string
}

// Found is what [Find] found, each list in the order of its paths.
type Found struct {
	From      []From
	Generate  []Generate
	Malformed []Malformed
}

// Find lists the late references in v, a decoded JSON value of map[string]any,
// []any and scalars. It looks into maps and lists, never into strings.
func Find(v any) Found {
	var f finder
	f.walk(v)
	slices.SortFunc(f.found.From, func(a, b From) int { return a.Path.compare(b.Path) })
	slices.SortFunc(f.found.Generate, func(a, b Generate) int { return a.Path.compare(b.Path) })
	slices.SortStableFunc(f.found.Malformed, func(a, b Malformed) int { return a.Path.compare(b.Path) })
	return f.found
}

type finder struct {
	found Found
	path  Path // of the value at hand; grows and shrinks, so what is kept is a copy
}

func (f *finder) walk(v any) {
	switch v := v.(type) {
	case map[string]any:
		if f.take(v) {
			return
		}
		for key, value := range v {
			f.path = append(f.path, key)
			f.walk(value)
			f.path = f.path[:len(f.path)-1]
		}
	case []any:
		for i, value := range v {
			f.path = append(f.path, i)
			f.walk(value)
			f.path = f.path[:len(f.path)-1]
		}
	}
}

// take notes m if it uses one of the keys. What is inside such a map belongs
// to it and holds no reference of its own.
func (f *finder) take(m map[string]any) bool {
	for _, key := range []string{FromKey, GenerateKey} {
		value, ok := m[key]
		if !ok {
			continue
		}
		switch {
		case len(m) > 1:
			f.malformed(fmt.Sprintf("%s stands beside other keys: %s", key, others(m, key)),
				"a late reference replaces a whole value; compose values inside the CEL expression")
		case key == FromKey:
			f.takeFrom(value)
		default:
			f.takeGenerate(value)
		}
		return true
	}
	return false
}

func (f *finder) takeFrom(value any) {
	expr, ok := value.(string)
	switch {
	case !ok:
		f.malformed(fmt.Sprintf("%s is %s, not a CEL expression", FromKey, typeName(value)), "")
	case strings.TrimSpace(expr) == "":
		f.malformed(FromKey+" is empty", "")
	default:
		f.found.From = append(f.found.From, From{Path: slices.Clone(f.path), Expr: expr})
	}
}

func (f *finder) malformed(message, hint string) {
	f.found.Malformed = append(f.found.Malformed, Malformed{Path: slices.Clone(f.path), Message: message, Hint: hint})
}

func others(m map[string]any, key string) string {
	var keys []string
	for k := range m {
		if k != key {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

// typeName names the JSON type of a decoded value with its article.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	}
	return "a number"
}
