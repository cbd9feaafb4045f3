package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A structural schema has either properties or additionalProperties. A struct
// with named fields and others, such as {team: string, [string]: string}, is
// written as a map; rules express what the named fields demand in addition.

// mapValues returns the shape of all values of o if o is written as a map. It
// reports false if a map loses too much of o: defaults, attributes, rules, or
// fields of another type. For {team: string, [string]: string} it is string.
func mapValues(o *shape.Object) (shape.Shape, bool) {
	if o.Values == nil || o.Open || o.Unlisted || len(o.Rules) > 0 || !cel.IsAccessible(o.Values) {
		return nil, false
	}
	sum := o.Values
	for _, f := range o.Fields {
		at, ok := cel.Field("", f.Name)
		if !ok || at != "."+f.Name || f.Default != nil || f.Attributes != nil || f.Guarded || f.GuardFills || !f.Required && !f.Optional || shape.IsNullable(f.Shape) {
			return nil, false
		}
		sum = shape.Union(sum, f.Shape)
	}
	kinds := shape.KindsOf(sum)
	for _, f := range o.Fields {
		alike := f.Shape.Equal(o.Values) && sum.Equal(o.Values)
		scalar := kinds&(shape.ListKind|shape.StructKind) == 0 && (len(f.Shape) == 0 || shape.KindsOf(f.Shape) == kinds)
		if !alike && !scalar && kinds != shape.IntKind|shape.StringKind {
			return nil, false
		}
	}
	return sum, cel.IsAccessible(sum) && !shape.IsNullable(sum)
}

// asMap writes o as a map. For {team: string, [string]: int | string} each value
// is an integer or a string, and a rule demands that team is a string.
func (w writer) asMap(out *props, o *shape.Object, sum shape.Shape, p location) {
	out.Type = "object"
	schema := w.schema(sum, p.in(".*", p.pos))
	out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema}
	out.MinProperties, out.MaxProperties = o.Min, o.Max
	var names []string
	for _, f := range o.Fields {
		names = append(names, "key == "+cel.String(f.Name))
		if f.Required {
			out.Required = append(out.Required, f.Name)
		}
		// An index, because an API server can't estimate the size of what a
		// selector of a map returns.
		q := cel.Implies(cel.String(f.Name)+" in self", cel.Holds(f.Shape, sum, "self["+cel.String(f.Name)+"]"))
		if !w.ruleAt(out, p, cel.FieldPath([]string{f.Name}), q, f.Name+" must be what the schema says of it") {
			w.notes.add(f.Pos, p.path+"."+f.Name, "what the field holds")
		}
	}
	others := &shape.Object{Values: sum, Patterns: o.Patterns, KeysClosed: o.KeysClosed}
	all := append(cel.HoldsKeys(others, "self", "key"), cel.Holds(o.Values, sum, "self[key]"))
	q := cel.AllOf(all...)
	if q.Text != "" {
		q.Text = "self.all(key, " + cel.Join(append(names, q.Text), " || ") + ")"
	}
	if !w.rule(out, p, q, "each other field must be what the schema says") {
		w.notes.add(p.pos, p.path+".*", "what the fields that the schema doesn't name hold")
	}
}

// descriptionOf returns the description of f. For a map it includes those of
// the named fields, for which the schema has no place.
func descriptionOf(f shape.Field, out props) string {
	if out.AdditionalProperties == nil || len(f.Shape) != 1 || f.Shape[0].Kind != shape.StructKind {
		return f.Description
	}
	parts := []string{f.Description}
	for _, g := range f.Shape[0].Object.Fields {
		if g.Description != "" {
			parts = append(parts, g.Name+": "+g.Description)
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
