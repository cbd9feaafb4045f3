package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A structural schema has either properties or additionalProperties. A struct with
// named fields beside others, such as {team: string, [string]: string}, is written
// as a map, and in CEL what the named fields are besides.

// mapValues is what the values of o, written as a map, have in common. It reports
// false where o has more to say than a map has place for: defaults, attributes,
// rules, or fields of another type.
func (o *object) mapValues() (shape, bool) {
	if o.values == nil || o.open || o.unread || len(o.rules) > 0 || !isAccessible(o.values) {
		return nil, false
	}
	sum := o.values
	for _, f := range o.fields {
		at, ok := celField("", f.name)
		if !ok || at != "."+f.name || f.value != nil || f.attributes != nil || f.conditional || f.filled || !f.required && !f.optional || isNullable(f.shape) {
			return nil, false
		}
		sum = either(sum, f.shape)
	}
	kinds := kindsOf(sum)
	for _, f := range o.fields {
		alike := f.shape.equal(o.values) && sum.equal(o.values)
		scalar := kinds&(cue.ListKind|cue.StructKind) == 0 && (len(f.shape) == 0 || kindsOf(f.shape) == kinds)
		if !alike && !scalar && kinds != cue.IntKind|cue.StringKind {
			return nil, false
		}
	}
	return sum, isAccessible(sum) && !isNullable(sum)
}

// asMap writes o as a map.
func (w writer) asMap(out *props, o *object, sum shape, p place) {
	out.Type = "object"
	schema := w.schema(sum, p.in(".*", p.pos))
	out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema}
	out.MinProperties, out.MaxProperties = o.min, o.max
	var names []string
	for _, f := range o.fields {
		names = append(names, "key == "+celString(f.name))
		if f.required {
			out.Required = append(out.Required, f.name)
		}
		// An index, not a selector: of what a map's selector yields, an API server
		// doesn't know how large it can be.
		q := implies(celString(f.name)+" in self", holds(f.shape, sum, "self["+celString(f.name)+"]"))
		if !w.ruleAt(out, p, fieldPath([]string{f.name}), q, f.name+" must be what the schema says of it") {
			w.notes.add(f.pos, p.path+"."+f.name, "what the field holds")
		}
	}
	others := &object{values: sum, patterns: o.patterns, keysClosed: o.keysClosed}
	all := append(others.keys("self", "key"), holds(o.values, sum, "self[key]"))
	q := allOf(all...)
	if q.text != "" {
		q.text = "self.all(key, " + join(append(names, q.text), " || ") + ")"
	}
	if !w.rule(out, p, q, "each other field must be what the schema says") {
		w.notes.add(p.pos, p.path+".*", "what the fields that the schema doesn't name hold")
	}
}

// described is the description of f, with those of the fields that a map has no
// place for.
func (f field) described(out props) string {
	if out.AdditionalProperties == nil || len(f.shape) != 1 || f.shape[0].kind != cue.StructKind {
		return f.description
	}
	parts := []string{f.description}
	for _, g := range f.shape[0].object.fields {
		if g.description != "" {
			parts = append(parts, g.name+": "+g.description)
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
