package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// attributes writes the arguments of a field's @k8s attributes. An argument that
// doesn't fit the type of the field is an error. It runs after the schema of the
// field is written, because it checks the type there.
func (w writer) attributes(out *props, f shape.Field, p location) {
	a := f.Attributes
	if a == nil {
		return
	}
	fail := func(format string, args ...any) {
		w.fail(problemAt(a.Pos, p.path, format, args...))
	}
	if a.ListType != "" {
		if out.Type != "array" {
			fail("listType is for lists")
			return
		}
		// list.UniqueItems() has made the list a set; the attribute takes
		// precedence.
		if out.XListType != nil {
			// The items were compared as a whole.
			out.Items.Schema.XMapType = nil
			if a.ListType == "atomic" {
				w.notes.add(p.pos, p.path, "list.UniqueItems()")
			}
		}
		out.XListType = &a.ListType
		for _, key := range a.ListMapKeys {
			if _, ok := out.Items.Schema.Properties[key]; !ok {
				fail("listMapKey %s: the items have no such field", key)
				return
			}
		}
		out.XListMapKeys = a.ListMapKeys
	}
	if a.MapType != "" {
		if out.Type != "object" {
			fail("mapType is for structs and maps")
			return
		}
		out.XMapType = &a.MapType
	}
	// Items of lists and values of maps are left out, because the API server
	// can't always tell which value they had before.
	if a.Immutable {
		if p.bare || strings.ContainsAny(p.path, "[*") || w.refused[ruleKey{p.schema, immutableRule}] || out.Type == "" && !out.XIntOrString {
			fail("immutable: an API server can't compare this field with what it was")
			return
		}
		out.XValidations = append(out.XValidations, apiextensionsv1.ValidationRule{Rule: immutableRule, Message: f.Name + " can't be changed"})
	}
	if a.Column != "" {
		w.column(a, *out, f, p, fail)
	}
}

// immutableRule is a transition rule: it is evaluated only when an object is
// updated.
const immutableRule = "self == oldSelf"

// column adds a printer column for a field. The path of spec.size is .spec.size.
// Dots in names are escaped, as in JSONPath.
func (w writer) column(a *shape.Attributes, out props, f shape.Field, p location, fail func(string, ...any)) {
	kind := out.Type
	switch {
	case p.bare || strings.ContainsAny(p.path, "[*"):
		fail("printerColumn: a column shows one field, not those of items")
		return
	case len(f.Shape) == 1 && slices.Contains(f.Shape[0].Strings.Formats, shape.FormatTime):
		kind = "date"
	case out.XIntOrString:
		kind = "string"
	case kind == "array" || kind == "object" || kind == "":
		fail("printerColumn: a column shows a scalar")
		return
	}
	path := ""
	for _, name := range p.fields {
		path += "." + strings.ReplaceAll(name, ".", `\.`)
	}
	// A column shows the first line of the description.
	summary, _, _ := strings.Cut(out.Description, "\n")
	*w.columns = append(*w.columns, apiextensionsv1.CustomResourceColumnDefinition{
		Name: a.Column, Type: kind, JSONPath: path, Priority: a.Priority, Description: summary,
	})
}
