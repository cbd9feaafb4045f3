package crdgen

import (
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// attributeName is the name of the attribute for what CUE has no words for.
const attributeName = "k8s"

// attributes are what @k8s(…) says about a field.
type attributes struct {
	pos               token.Pos
	listType, mapType string
	listMapKeys       []string
	immutable         bool
	column            string
	priority          int32
}

// attributes reads the @k8s attributes of the field v, which declared has the
// positions of. Nobody would notice a misspelt one, so it is an error.
func (r *reader) attributes(v cue.Value, declared token.Pos, path string) *attributes {
	var out *attributes
	for _, a := range v.Attributes(cue.FieldAttr) {
		if a.Name() != attributeName {
			continue
		}
		if out == nil {
			out = &attributes{pos: declared}
		}
		for i := range a.NumArgs() {
			key, value := a.Arg(i)
			if err := out.set(key, value); err != "" {
				r.fail(errors.Newf(declared, "%s: @%s(%s): %s", path, attributeName, a.Contents(), err))
			}
		}
		switch {
		case (out.listType == "map") != (len(out.listMapKeys) > 0):
			r.fail(errors.Newf(declared, "%s: @%s(%s): listType=map and listMapKey go together", path, attributeName, a.Contents()))
		case out.priority != 0 && out.column == "":
			r.fail(errors.Newf(declared, "%s: @%s(%s): priority without printerColumn", path, attributeName, a.Contents()))
		}
	}
	return out
}

// set takes one argument. It returns what is wrong with it.
func (a *attributes) set(key, value string) string {
	switch key {
	case "listType":
		if !slices.Contains([]string{"atomic", "set", "map"}, value) {
			return "listType is atomic, set or map"
		}
		a.listType = value
	case "mapType":
		if !slices.Contains([]string{"atomic", "granular"}, value) {
			return "mapType is atomic or granular"
		}
		a.mapType = value
	case "listMapKey":
		if value == "" {
			return "listMapKey is the name of a field of the items"
		}
		if !slices.Contains(a.listMapKeys, value) {
			a.listMapKeys = append(a.listMapKeys, value)
		}
	case "immutable":
		if value != "" {
			return "immutable has no value"
		}
		a.immutable = true
	case "printerColumn":
		if value == "" {
			return "printerColumn is the name of a column"
		}
		a.column = value
	case "priority":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return "priority is a number from 0 up"
		}
		a.priority = int32(n)
	default:
		return "unknown argument " + strconv.Quote(key) + ", known are immutable, listMapKey, listType, mapType, printerColumn and priority"
	}
	return ""
}

// attributed is the position of the attribute in d, if it has one of ours.
func attributed(f *ast.Field) (token.Pos, bool) {
	for _, a := range f.Attrs {
		if name, _ := a.Split(); name == attributeName {
			return a.At, true
		}
	}
	return token.NoPos, false
}

// attributes writes what the attributes of a field say.
func (w writer) attributes(out *props, f field, p place) {
	a := f.attributes
	if a == nil {
		return
	}
	fail := func(format string, args ...any) {
		w.fail(errors.Newf(a.pos, "%s: "+format, append([]any{p.path}, args...)...))
	}
	if a.listType != "" {
		if out.Type != "array" {
			fail("listType is for lists")
			return
		}
		if out.XListType != nil {
			// The items were to be told apart by all that is in them.
			out.Items.Schema.XMapType = nil
			if a.listType == "atomic" {
				w.notes.add(p.pos, p.path, "list.UniqueItems()")
			}
		}
		out.XListType = &a.listType
		for _, key := range a.listMapKeys {
			if _, ok := out.Items.Schema.Properties[key]; !ok {
				fail("listMapKey %s: the items have no such field", key)
				return
			}
		}
		out.XListMapKeys = a.listMapKeys
	}
	if a.mapType != "" {
		if out.Type != "object" {
			fail("mapType is for structs and maps")
			return
		}
		out.XMapType = &a.mapType
	}
	if a.immutable {
		if p.bare || strings.ContainsAny(p.path, "[*") || w.refused[ruleKey{p.schema, immutableRule}] || out.Type == "" && !out.XIntOrString {
			fail("immutable: an API server can't compare this field with what it was")
			return
		}
		out.XValidations = append(out.XValidations, apiextensionsv1.ValidationRule{Rule: immutableRule, Message: f.name + " can't be changed"})
	}
	if a.column != "" {
		w.column(a, *out, f, p, fail)
	}
}

const immutableRule = "self == oldSelf"

// column adds a printer column for a field.
func (w writer) column(a *attributes, out props, f field, p place, fail func(string, ...any)) {
	kind := out.Type
	switch {
	case p.bare || strings.ContainsAny(p.path, "[*"):
		fail("printerColumn: a column shows one field, not those of items")
		return
	case len(f.shape) == 1 && slices.Contains(f.shape[0].str.formats, formatTime):
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
	*w.columns = append(*w.columns, apiextensionsv1.CustomResourceColumnDefinition{
		Name: a.column, Type: kind, JSONPath: path, Priority: a.priority, Description: firstLine(out.Description),
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
