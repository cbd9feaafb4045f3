package kinds

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/source"
)

// Check says what is wrong with an object, a decoded JSON value of
// map[string]any, []any and scalars, in the order of its paths. Late references
// stand for whatever is wanted in their place.
func (c *Catalog) Check(object map[string]any) []Problem {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	t, problem := c.Lookup(apiVersion, kind)
	if problem != nil {
		return []Problem{*problem}
	}
	w := walker{}
	w.value(object, t)
	found := w.problems
	if len(found) == 0 {
		// As the API server does, which asks further only where all fields are right.
		found = c.rules(apiVersion, kind, object)
	}
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path.String(), b.Path.String()), cmp.Compare(a.Message, b.Message))
	})
	return found
}

// walker takes an object and its type apart side by side.
type walker struct {
	problems []Problem
	path     reference.Path
}

func (w *walker) add(message, hint string) {
	w.problems = append(w.problems, Problem{Path: slices.Clone(w.path), Message: message, Hint: hint})
}

func (w *walker) at(step any, v any, t *Type) {
	w.path = append(w.path, step)
	w.value(v, t)
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) value(v any, t *Type) {
	if v == nil || IsLate(v) {
		return
	}
	is := jsonOf(v)
	if is&t.Accepts() == 0 {
		w.add(fmt.Sprintf("must be %s, not %s", t.Words(), Words(is)), "")
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			field := t.Field(name)
			if field == nil {
				w.path = append(w.path, name)
				w.problems = append(w.problems, Unknown(slices.Clone(w.path), t))
				w.path = w.path[:len(w.path)-1]
				continue
			}
			w.at(name, v[name], field)
		}
		given := slices.DeleteFunc(slices.Collect(maps.Keys(v)), func(name string) bool { return v[name] == nil })
		for _, name := range t.Missing(given) {
			w.problems = append(w.problems, Missing(append(slices.Clone(w.path), name)))
		}
	case []any:
		for i, item := range v {
			w.at(i, item, t.Elem())
		}
	default:
		if message := t.Refuses(v); message != "" {
			w.add(message, "")
		}
	}
}

// Unknown is the problem of a field, the last of the path, that a type lacks.
func Unknown(path reference.Path, t *Type) Problem {
	name, _ := path[len(path)-1].(string)
	return Problem{Path: path, Message: "unknown field", Hint: source.Hint(name, t.Fields())}
}

// Missing is the problem of a field, the last of the path, that must be given.
func Missing(path reference.Path) Problem { return Problem{Path: path, Message: "missing"} }

// IsLate tells a value that is only known in the cluster.
func IsLate(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	_, from := m[reference.FromKey]
	_, generate := m[reference.GenerateKey]
	return from || generate
}

// Refuses says what is wrong with a scalar of the right JSON type, or "".
func (t *Type) Refuses(v any) string {
	text, isText := v.(string)
	switch t.kind {
	case kindString:
		// What is empty counts as not given.
		if len(t.enum) > 0 && text != "" && !slices.Contains(t.enum, text) {
			return fmt.Sprintf("%q is not one of %s", text, quoted(t.enum))
		}
	case kindInt32:
		if n, ok := jsonvalue.Number(v); ok && (n < math.MinInt32 || n > math.MaxInt32) {
			return fmt.Sprintf("%v doesn't fit into 32 bits", v)
		}
	case kindQuantity:
		if isText {
			if _, err := resource.ParseQuantity(text); err != nil {
				return fmt.Sprintf("%q is not %s", text, t.Words())
			}
		}
	case kindBytes:
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return "is not base64"
		}
	}
	return ""
}

func quoted(values []string) string {
	var all []string
	for _, v := range values {
		all = append(all, strconv.Quote(v))
	}
	return strings.Join(all, ", ")
}

// jsonOf is the JSON type of a decoded value.
func jsonOf(v any) JSON {
	switch v := v.(type) {
	case bool:
		return Boolean
	case string:
		return String
	case []any:
		return List
	case map[string]any:
		return Map
	case int64, int:
		return Integer
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return Integer
		}
	}
	return Number
}

// Words names the first of the types.
func Words(is JSON) string {
	for _, w := range []struct {
		is   JSON
		word string
	}{{Boolean, "a boolean"}, {Integer, "an integer"}, {Number, "a number"}, {String, "a string"}, {List, "a list"}} {
		if is&w.is != 0 {
			return w.word
		}
	}
	return "a struct"
}
