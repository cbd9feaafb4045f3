package moduleinit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/literal"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/pequod-io/pequod/crdgen"
)

// schemaWriter writes structural schemas as CUE that package crdgen turns into the same schemas. CUE's
// own conversion drops defaults.
type schemaWriter struct {
	imports map[string]bool
	notes   []string
	// rules are the rules of CEL, without those to leave out.
	rules   []celRule
	without map[celRule]bool
}

// celRule is a rule of CEL about what is at the path on in a field; see package crdgen.
type celRule struct{ path, on, text string }

// comment returns a description as a comment.
func comment(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "// " + strings.ReplaceAll(text, "\n", "\n// ") + "\n"
}

// note records a part of the schema that the module does not have.
func (w *schemaWriter) note(path, format string, args ...any) {
	w.notes = append(w.notes, path+": "+fmt.Sprintf(format, args...))
}

// field returns a field with its comment and its attributes.
func (w *schemaWriter) field(path, name string, s *apiextensionsv1.JSONSchemaProps, required bool) string {
	path += "." + name
	value, mark := w.value(path, s), "?"
	switch {
	case s.Default == nil && required:
		mark = "!"
	case s.Default == nil:
	case len(s.Enum) > 0 || isSumOfDefaults(s):
		mark = ""
	// CUE would add the fields of this one to those that an instance gives.
	case hasFields(s.Default.Raw):
		w.note(path, "the default is left out: %s", s.Default.Raw)
	default:
		mark, value = "", "*"+scalarOf(s.Default)+" | "+value
	}
	var attributes []string
	if s.XListType != nil && *s.XListType != "atomic" {
		attributes = append(attributes, "listType="+*s.XListType)
		for _, key := range s.XListMapKeys {
			attributes = append(attributes, "listMapKey="+key)
		}
	}
	if s.XMapType != nil && *s.XMapType != "granular" {
		attributes = append(attributes, "mapType="+*s.XMapType)
	}
	all := w.ownRules(path, "", s)
	if len(attributes) > 0 {
		all = append([]string{"@k8s(" + strings.Join(attributes, ",") + ")"}, all...)
	}
	end := strings.Join(append([]string{""}, all...), " ") + "\n"
	text := label(name)
	if slices.Contains([]string{"bool", "int", "int64", "list", "math", "number", "strings", "struct"}, name) {
		text = literal.Label.Quote(name) // a field would hide what the constraints refer to
	}
	return comment(s.Description) + text + mark + ": " + value + end
}

// isSumOfDefaults reports whether the default of a struct equals the struct that the defaults
// of its fields form. CUE then needs no default for the struct itself.
func isSumOfDefaults(s *apiextensionsv1.JSONSchemaProps) bool {
	var given any
	if json.Unmarshal(s.Default.Raw, &given) != nil || len(s.Properties) == 0 {
		return false
	}
	return reflect.DeepEqual(crdgen.WithDefaults(s, given), crdgen.WithDefaults(s, map[string]any{}))
}

// hasFields reports whether a JSON value is or contains an object with fields.
func hasFields(data []byte) bool { return bytes.Contains(data, []byte(`":`)) }

// ownRules returns the attributes with the rules of a field, and of the items and values in it.
func (w *schemaWriter) ownRules(path, on string, s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, r := range s.XValidations {
		rule := celRule{path, on, r.Rule}
		if w.without[rule] {
			w.note(path+on, "the rule of CEL is left out, add a violation to render.cue: %s", r.Rule)
			continue
		}
		w.rules = append(w.rules, rule)
		text := "@k8s(rule=" + quote(r.Rule)
		for _, a := range [][2]string{{"message", r.Message}, {"messageExpression", r.MessageExpression}, {"reason", string(ptr.Deref(r.Reason, ""))}, {"fieldPath", r.FieldPath}, {"on", on}} {
			if a[1] != "" {
				text += "," + a[0] + "=" + quote(a[1])
			}
		}
		if r.OptionalOldSelf != nil {
			text += ",optionalOldSelf=" + strconv.FormatBool(*r.OptionalOldSelf)
		}
		all = append(all, text+")")
	}
	if s.Items != nil && s.Items.Schema != nil {
		all = append(all, w.ownRules(path, on+"[]", s.Items.Schema)...)
	}
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		all = append(all, w.ownRules(path, on+".*", a.Schema)...)
	}
	return all
}

// value returns the constraints of a schema.
func (w *schemaWriter) value(path string, s *apiextensionsv1.JSONSchemaProps) string {
	if s.AllOf != nil || s.AnyOf != nil && !s.XIntOrString || s.OneOf != nil || s.Not != nil {
		w.note(path, "allOf, anyOf, oneOf and not are left out")
	}
	value := strings.Join(w.constraints(path, s), " & ")
	if s.Nullable {
		value = "null | " + value
	}
	return value
}

// constraints returns the constraints of a schema without null.
func (w *schemaWriter) constraints(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	if len(s.Enum) > 0 {
		var all []string
		for i := range s.Enum {
			one := scalarOf(&s.Enum[i])
			if s.Default != nil && one == scalarOf(s.Default) {
				one = "*" + one
			}
			all = append(all, one)
		}
		return []string{strings.Join(all, " | ")}
	}
	if s.XIntOrString {
		if s.Pattern != "" {
			return []string{"(int | =~" + quote(s.Pattern) + ")"}
		}
		return []string{"(int | string)"}
	}
	switch s.Type {
	case "string":
		return w.stringOf(path, s)
	case "integer", "number":
		return w.number(s)
	case "boolean":
		return []string{"bool"}
	case "array":
		item := "_"
		if s.Items != nil && s.Items.Schema != nil {
			item = w.value(path+"[]", s.Items.Schema)
		}
		return append([]string{"[..." + item + "]"}, w.bounds("list", "Items", s.MinItems, s.MaxItems)...)
	case "object":
		return append([]string{w.structOf(path, s)}, w.bounds("struct", "Fields", s.MinProperties, s.MaxProperties)...)
	}
	return []string{"_"}
}

// structOf returns a struct or a map.
func (w *schemaWriter) structOf(path string, s *apiextensionsv1.JSONSchemaProps) string {
	if a := s.AdditionalProperties; a != nil && a.Schema != nil {
		return "{[string]: " + w.value(path+".*", a.Schema) + "}"
	}
	text := "{\n"
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		text += w.field(path, name, &p, slices.Contains(s.Required, name))
	}
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields || s.AdditionalProperties != nil && s.AdditionalProperties.Allows {
		text += "...\n"
	}
	return text + "}"
}

// stringOf returns the constraints of a string.
func (w *schemaWriter) stringOf(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	if s.Format != "" {
		w.note(path, "the format %s is left out", s.Format)
	}
	all := []string{"string"}
	if s.Pattern != "" {
		all = []string{"=~" + quote(s.Pattern)}
	}
	return append(all, w.bounds("strings", "Runes", s.MinLength, s.MaxLength)...)
}

// number returns the constraints of a number.
func (w *schemaWriter) number(s *apiextensionsv1.JSONSchemaProps) []string {
	all := []string{map[string]string{"integer": "int", "number": "number"}[s.Type]}
	if s.Format == "int32" || s.Format == "int64" {
		all = []string{s.Format}
	}
	bound := func(operator string, exclusive bool, n *float64) {
		if n == nil {
			return
		}
		if !exclusive {
			operator += "="
		}
		all = append(all, operator+strconv.FormatFloat(*n, 'f', -1, 64))
	}
	bound(">", s.ExclusiveMinimum, s.Minimum)
	bound("<", s.ExclusiveMaximum, s.Maximum)
	if s.MultipleOf != nil {
		w.imports[`"math"`] = true
		all = append(all, "math.MultipleOf("+strconv.FormatFloat(*s.MultipleOf, 'f', -1, 64)+")")
	}
	return all
}

// bounds returns the limits of a length by functions of a package.
func (w *schemaWriter) bounds(pkg, unit string, least, most *int64) (all []string) {
	for name, n := range map[string]*int64{"Min": least, "Max": most} {
		if n != nil {
			w.imports[strconv.Quote(pkg)] = true
			all = append(all, fmt.Sprintf("%s.%s%s(%d)", pkg, name, unit, *n))
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// quote returns a string as CUE.
func quote(s string) string { return literal.String.Quote(s) }

// scalarOf returns a value as CUE, in which JSON is valid.
func scalarOf(v *apiextensionsv1.JSON) string { return string(v.Raw) }
