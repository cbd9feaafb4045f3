package crdgen

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
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
	w.results.attributed = append(w.results.attributed, attributed{p.schema, p.path, a.Pos})
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
	for _, r := range a.Rules {
		w.ownRule(out, r, p, fail)
	}
	if a.Column != "" {
		w.column(a, *out, f, p, fail)
	}
	if a.Scale {
		w.scale(a, *out, f, p, fail)
	}
}

// ownRule writes a rule of the author. Unlike the other rules it is never dropped, see
// [refuse].
func (w writer) ownRule(out *props, r shape.OwnRule, p location, fail func(string, ...any)) {
	// What differs between the members of a choice is merged, so that the rule would hold
	// for all of them.
	if p.bare || p.chosen || len(p.fields) == 0 || p.fields[0] != "spec" {
		fail("rule: belongs to #Input or a field of it that is in no choice between structs or lists")
		return
	}
	at := p.schema
	for on := r.On; on != ""; {
		rest, isItems := strings.CutPrefix(on, "[]")
		switch {
		case isItems && out.Items != nil:
			out, at = out.Items.Schema, at+".items"
		case !isItems && out.AdditionalProperties != nil && out.AdditionalProperties.Schema != nil:
			out, at, rest = out.AdditionalProperties.Schema, at+".additionalProperties", on[len(".*"):]
		default:
			fail("rule: the schema has nothing at %s%s", p.path, r.On)
			return
		}
		on = rest
	}
	out.XValidations = append(slices.DeleteFunc(out.XValidations, func(q apiextensionsv1.ValidationRule) bool { return q.Rule == r.Rule }), r.ValidationRule)
	w.results.own[ruleKey{at, r.Rule}] = true
}

// refusedAttributes returns the API server's errors about fields with @k8s
// attributes, at these fields, or nil if there is another error. The schemas that
// are written are valid by themselves, so the attributes are the reason. name is
// the path of the schema in the errors.
func refusedAttributes(fields []attributed, name string, problems fieldpath.ErrorList) error {
	var all problem.List
	for _, e := range problems {
		at, ok := strings.CutPrefix(e.Field, name)
		if !ok {
			continue
		}
		// Fields are written from the inside out, so the innermost one is first.
		i := slices.IndexFunc(fields, func(f attributed) bool { return strings.HasPrefix(at+".", f.schema+".") })
		if i < 0 {
			continue
		}
		message := "an API server refuses this @k8s attribute: " + e.ErrorBody()
		if rest := strings.TrimPrefix(strings.TrimPrefix(at, fields[i].schema), "."); rest != "" {
			message += " (" + rest + ")"
		}
		all = append(all, problem.Problem{Position: fields[i].pos, Path: fields[i].path, Message: message, Rule: problem.RuleModule})
	}
	return all.Err()
}

// scale makes a field the number of replicas of the scale subresource. The API
// server can't scale an instance that lacks the field.
func (w writer) scale(a *shape.Attributes, out props, f shape.Field, p location, fail func(string, ...any)) {
	switch {
	case p.bare || strings.ContainsAny(p.path, "[*") || len(p.fields) == 0 || p.fields[0] != "spec":
		fail("scale: belongs to a field of #Input outside lists and maps")
	case out.Type != "integer":
		fail("scale: the number of replicas is an integer")
	case !f.Required && (f.Default == nil || !p.defaults):
		fail("scale: an instance without the field can't be scaled; give it a default, or require it")
	case w.results.scale != nil:
		fail("scale: another field is scaled already, %s", w.results.scale.SpecReplicasPath)
	default:
		s := &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: jsonPath(p.fields), StatusReplicasPath: a.ScaleStatus}
		if a.ScaleSelector != "" {
			s.LabelSelectorPath = &a.ScaleSelector
		}
		w.results.scale, w.results.scaled = s, attributed{p.schema, p.path, a.Pos}
	}
}

// platformScale sets the scale subresource that #Platform names. Package render has
// checked its paths against #Input and #Status.
func (o *written) platformScale(scale *v1alpha1.Scale, input problem.Position) error {
	if scale == nil {
		return nil
	}
	path := strings.TrimPrefix(scale.SpecReplicasPath, ".")
	if o.scale != nil {
		return problemAt(o.scaled.pos, o.scaled.path, "scale: #Platform.scale scales %s already", path)
	}
	s, set := o.spec, o.required || o.spec.Default != nil
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "spec."), ".") {
		child, ok := s.Properties[name]
		if !ok {
			return problemAt(input, path, "#Platform.scale: the schema has no such field")
		}
		set = set && (child.Default != nil || slices.Contains(s.Required, name))
		s = child
	}
	switch {
	case s.Type != "integer":
		return problemAt(input, path, "#Platform.scale: the number of replicas is an integer")
	case !set:
		return problemAt(input, path, "#Platform.scale: an instance without the field can't be scaled; give it a default, or require it")
	}
	o.scale = &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: scale.SpecReplicasPath, StatusReplicasPath: scale.StatusReplicasPath}
	if scale.LabelSelectorPath != "" {
		o.scale.LabelSelectorPath = &scale.LabelSelectorPath
	}
	return nil
}

// checkScale checks that the fields of status exist that the scale subresource
// reads, with the types that it needs.
func (o *written) checkScale() error {
	if o.scale == nil {
		return nil
	}
	for _, f := range []struct{ argument, path, kind string }{
		{"scale", o.scale.StatusReplicasPath, "integer"}, {"scaleSelector", ptr.Deref(o.scale.LabelSelectorPath, ""), "string"},
	} {
		if f.path == "" {
			continue
		}
		s := o.status
		for name := range strings.SplitSeq(strings.TrimPrefix(f.path, ".status."), ".") {
			child, ok := s.Properties[name]
			if !ok && !(s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields) {
				return problemAt(o.scaled.pos, o.scaled.path, "%s: #Status has no field %s", f.argument, strings.TrimPrefix(f.path, ".status."))
			}
			s = child
		}
		if s.Type != "" && s.Type != f.kind {
			return problemAt(o.scaled.pos, o.scaled.path, "%s: %s is of type %s: want %s", f.argument, f.path, s.Type, f.kind)
		}
	}
	return nil
}

// jsonPath returns the JSONPath of a field. Dots in names are escaped.
func jsonPath(fields []string) string {
	path := ""
	for _, name := range fields {
		path += "." + strings.ReplaceAll(name, ".", `\.`)
	}
	return path
}

// immutableRule is a transition rule: it is evaluated only when an object is
// updated.
const immutableRule = "self == oldSelf"

// column adds a printer column for a field. The path of spec.size is .spec.size.
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
	// A column shows the first line of the description.
	summary, _, _ := strings.Cut(out.Description, "\n")
	w.results.columns = append(w.results.columns, apiextensionsv1.CustomResourceColumnDefinition{
		Name: a.Column, Type: kind, JSONPath: jsonPath(p.fields), Priority: a.Priority, Description: summary,
	})
}
