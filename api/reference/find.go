package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The keys that make a map a late reference.
const (
	FromKey     = "$from"
	GenerateKey = "$generate"
)

// From is a late reference {"$from": Expr} at Path.
type From struct {
	// Path is the place of the reference in the value that [Find] got.
	Path Path
	// Expr is not checked yet, and not empty.
	Expr string
}

// Malformed is a map with one of the two keys that is not a valid late reference.
type Malformed struct {
	Path Path
	// Message and Hint have the form of the fields of the same names of
	// problem.Problem.
	Message string
	Hint    string
}

// Found is the result of [Find]. Each list is sorted by path.
type Found struct {
	From      []From
	Generate  []Generate
	Malformed []Malformed
}

// Find returns the late references in v, a decoded JSON value of map[string]any,
// []any and scalars. It descends into maps and lists, and never into strings.
func Find(v any) Found {
	var f finder
	f.walk(v)
	slices.SortFunc(f.found.From, func(a, b From) int { return a.Path.compare(b.Path) })
	slices.SortFunc(f.found.Generate, func(a, b Generate) int { return a.Path.compare(b.Path) })
	slices.SortStableFunc(f.found.Malformed, func(a, b Malformed) int { return a.Path.compare(b.Path) })
	return f.found
}

// finder walks a value.
type finder struct {
	found Found
	// path is the path of the current value. It is changed in place, so results
	// need copies.
	path Path
}

// walk records the late references in v, which is at f.path. The order in which
// it visits the keys of a map is random; Find sorts the results.
func (f *finder) walk(v any) {
	switch v := v.(type) {
	case map[string]any:
		if f.readReference(v) {
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

// readReference records m and returns true if it has one of the keys of late
// references. The walk does not descend into such a map. Keys beside a reserved
// one are an error, because the reference replaces the whole map and they would
// be lost.
func (f *finder) readReference(m map[string]any) bool {
	// With both keys the message is about $from, so that it is the same every
	// time.
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
			f.readFrom(value)
		default:
			f.readGenerate(value)
		}
		return true
	}
	return false
}

// readFrom records the value of a $from key.
func (f *finder) readFrom(value any) {
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

// malformed records a problem at the current path.
func (f *finder) malformed(message, hint string) {
	f.found.Malformed = append(f.found.Malformed, Malformed{Path: slices.Clone(f.path), Message: message, Hint: hint})
}

// others returns the other keys of m, sorted.
func others(m map[string]any, key string) string {
	keys := slices.Sorted(maps.Keys(m))
	return strings.Join(slices.DeleteFunc(keys, func(k string) bool { return k == key }), ", ")
}

// typeName returns the JSON type of a decoded value with its article, for messages.
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
