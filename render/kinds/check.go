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
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Check returns the problems of an object, sorted by path. The object is decoded
// JSON: map[string]any, []any and scalars. A late reference is valid in place of
// any value. If the kind can't be looked up, that is the only problem.
func (c *Catalog) Check(object map[string]any) problem.List {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	t, p := c.Lookup(apiVersion, kind)
	if p != nil {
		return problem.List{*p}
	}
	w := walker{}
	w.value(object, t)
	found := w.problems
	if len(found) == 0 {
		// Like the API server: schemas are validated once all fields are known
		// and have the right type.
		found = c.validateCustom(apiVersion, kind, object)
	}
	slices.SortStableFunc(found, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return found
}

// walker walks an object and its type in parallel and collects problems.
type walker struct {
	problems problem.List
	path     reference.Path // of the current value
}

// add reports a problem whose path begins at the current value.
func (w *walker) add(p problem.Problem) {
	p.Path = fieldpath.Concat(w.path.String(), p.Path)
	w.problems = append(w.problems, p)
}

// child checks the value at a map key or a list index.
func (w *walker) child(key any, v any, t *Type) {
	w.path = append(w.path, key)
	w.value(v, t)
	w.path = w.path[:len(w.path)-1]
}

// value checks a value and everything below it. Late references are not checked,
// because their value is not known here. A value of the wrong JSON type is one
// problem, and nothing below it is checked. A field that is null is missing if it
// is required.
func (w *walker) value(v any, t *Type) {
	if v == nil || IsLate(v) {
		return // null counts as not given
	}
	is := jsonOf(v)
	if is&t.Accepts() == 0 {
		w.add(*newProblem("", fmt.Sprintf("must be %s, not %s", t.Words(), Words(is)), ""))
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			field := t.Field(name)
			if field == nil {
				w.add(Unknown(name, t))
				continue
			}
			w.child(name, v[name], field)
		}
		given := slices.DeleteFunc(slices.Collect(maps.Keys(v)), func(name string) bool { return v[name] == nil })
		for _, name := range t.Missing(given) {
			w.add(Missing(name))
		}
	case []any:
		for i, item := range v {
			w.child(i, item, t.Elem())
		}
	default:
		if message := t.Refuses(v); message != "" {
			w.add(*newProblem("", message, ""))
		}
	}
}

// Unknown returns the problem of a field that a type does not have. The path
// is the field.
func Unknown(name string, t *Type) problem.Problem {
	return *newProblem(reference.Path{name}.String(), "unknown field", source.Hint(name, t.Fields()))
}

// Missing returns the problem of a required field. The path is the field.
func Missing(name string) problem.Problem {
	return *newProblem(reference.Path{name}.String(), "missing", "")
}

// IsLate reports whether a value is a late reference or a generated value, which
// is known only in the cluster: a map whose only key is $from or $generate.
func IsLate(v any) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	_, from := m[reference.FromKey]
	_, generate := m[reference.GenerateKey]
	return from || generate
}

// Refuses returns the message for a scalar of an accepted JSON type that is not a
// valid value, or "". It checks enumerations, 32-bit integers, quantities and
// base64.
func (t *Type) Refuses(v any) string {
	text, isText := v.(string)
	switch t.kind {
	case kindString:
		// An empty string counts as not given.
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

// quoted returns values in quotes, joined by commas.
func quoted(values []string) string {
	var all []string
	for _, v := range values {
		all = append(all, strconv.Quote(v))
	}
	return strings.Join(all, ", ")
}

// jsonOf returns the JSON type of a decoded value. A float with an integral value
// is an Integer, as for the API server. Above 2^53 a float may have been rounded,
// so it is no Integer any more.
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

// Words returns the first of the types with its article, in the order of the
// table below. Map is the last and is called a struct.
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

// newProblem returns a problem of severity Error.
func newProblem(path, message, hint string) *problem.Problem {
	return &problem.Problem{Path: path, Message: message, Hint: hint, Rule: problem.RuleSchema}
}
