package crdgen

import (
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func isEmpty(p props) bool { return reflect.DeepEqual(p, props{}) }

// structs writes structs.
func (w writer) structs(out *props, s shape, p place) {
	if len(s) == 1 {
		o := s[0].object
		if sum, ok := o.mapValues(); ok && len(o.fields) > 0 && !p.bare {
			w.asMap(out, o, sum, p)
			return
		}
		w.object(out, o, p)
		return
	}
	w.choice(out, s, p)
}

// object writes one struct.
func (w writer) object(out *props, o *object, p place) {
	out.Type = "object"
	filled := o.unread
	for _, f := range o.fields {
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[f.name] = w.field(f, p.in("."+f.name, f.pos))
		if f.required {
			out.Required = append(out.Required, f.name)
		}
		filled = filled || !f.required && !f.optional || f.filled || f.conditional
	}
	w.others(out, o, p)
	out.MaxProperties = o.max
	switch {
	case o.min == nil:
	case filled:
		// The fields that rendering fills in count, too.
		least := *o
		least.max = nil
		if !w.rule(out, p, least.holdsCount(o, "self"), "must have at least "+itoa(*o.min)+" fields") {
			w.notes.add(p.pos, p.path, "struct.MinFields(%d)", *o.min)
		}
	default:
		out.MinProperties = o.min
	}
	w.rules(out, o, p)
}

// others writes what o says about fields that it doesn't list.
func (w writer) others(out *props, o *object, p place) {
	yes := true
	switch {
	case o.values == nil:
		if o.open {
			out.XPreserveUnknownFields = &yes
		}
	case o.values.equal(anything()):
		out.XPreserveUnknownFields = &yes
	case len(o.fields) > 0 || o.open:
		out.XPreserveUnknownFields = &yes
		w.notes.add(p.pos, p.path+".*", "what the fields that the schema doesn't name hold")
	default:
		schema := w.schema(o.values, p.in(".*", token.NoPos))
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema}
		w.keys(out, o, p)
		return
	}
	for _, k := range o.patterns {
		w.notes.add(k.pos, p.path+".*", "the constraint on fields that match %s", k.text)
	}
}

// keys writes what a map demands of its keys.
func (w writer) keys(out *props, o *object, p place) {
	if len(o.patterns) == 0 {
		return
	}
	q := unknown()
	if isAccessible(o.values) {
		q = allOf(o.keys("self", "key")...)
		if q.text != "" {
			q.text = "self.all(key, " + q.text + ")"
		}
	}
	var texts []string
	for _, k := range o.patterns {
		texts = append(texts, k.text)
	}
	if w.rule(out, p, q, keysMessage(o, texts)) {
		return
	}
	for _, k := range o.patterns {
		w.notes.add(k.pos, p.path+".*", "that the key matches %s", k.text)
	}
	if len(o.patterns) > 1 {
		w.notes.add(o.patterns[0].pos, p.path+".*", "which key takes which value")
	}
}

func keysMessage(o *object, texts []string) string {
	if o.keysClosed && len(texts) == 1 {
		return "each name must be " + texts[0]
	}
	return "each field must be what the schema says for names like " + strings.Join(texts, " and ")
}

// choice writes a choice between structs: all of their fields, and under anyOf
// what tells the members apart. A member is never told by the presence of a
// literal, which CUE fills in.
func (w writer) choice(out *props, s shape, p place) {
	p.defaults = false
	sum, alike := sumOf(s)
	w.object(out, sum, p)
	exact := alike && len(out.Properties) > 0
	var members []props
	for _, t := range s {
		m, ok := w.member(t.object, sum)
		exact = exact && ok
		members = append(members, m)
	}
	if slices.ContainsFunc(members, isEmpty) {
		// One of them is open to everything that can be said here.
		exact, members = false, nil
	}
	out.AnyOf = members
	declared := shape{{kind: cue.StructKind, object: sum}}
	if !exact && !p.bare {
		var of []predicate
		for _, t := range s {
			of = append(of, t.holds(declared, declared, "self"))
		}
		exact = w.rule(out, p, anyOf(of...), "must be "+outlines(s))
	}
	switch {
	case !exact:
		w.notes.add(p.pos, p.path, "the choice between %d structs", len(s))
	case slices.ContainsFunc(s, func(t term) bool { return t.object.apart }):
	case !areExclusive(s) && (p.bare || !w.rule(out, p, oneAlone(s, declared, "self"), "must be like one alone of "+outlines(s))):
		w.notes.add(p.pos, p.path, "that one of %d structs alone is meant", len(s))
	}
}

// sumOf is an object with the fields of all the members, each as wide as the
// widest. It reports whether the members agree on the fields that they don't
// list.
func sumOf(s shape) (*object, bool) {
	sum := &object{}
	alike := true
	first := s[0].object
	for _, t := range s {
		o := t.object
		sum.open = sum.open || o.open
		sum.values = merge(sum.values, o.values)
		alike = alike && len(o.rules) == 0 && len(o.patterns) == 0 && o.open == first.open && o.values.equal(first.values) && o.min == nil && o.max == nil
		for _, f := range o.fields {
			if i, found := slices.BinarySearchFunc(sum.fields, f.name, byName); !found {
				sum.fields = slices.Insert(sum.fields, i, field{name: f.name, required: true, optional: true, pos: f.pos})
			}
		}
	}
	for i := range sum.fields {
		g := &sum.fields[i]
		for _, t := range s {
			f := t.object.lookup(g.name)
			switch {
			case f != nil:
				g.shape = merge(g.shape, f.shape)
				g.required = g.required && f.required
				g.optional = g.optional && (f.optional || f.required)
				if g.description == "" {
					g.description = f.description
				}
				if g.attributes == nil {
					g.attributes = f.attributes
				}
				continue
			case t.object.open:
				g.shape = anything()
			default:
				g.shape = merge(g.shape, t.object.values)
			}
			g.required = false
		}
	}
	return sum, alike
}

// member is what distinguishes o among the members of sum. It reports whether
// that is all of what o says.
func (w writer) member(o, sum *object) (props, bool) {
	var out props
	exact := len(o.rules) == 0 && len(o.patterns) == 0
	for _, g := range sum.fields {
		f := o.lookup(g.name)
		if f == nil {
			if !o.open && o.values == nil {
				conjoin(&out, props{Not: &props{Required: []string{g.name}}})
			}
			continue
		}
		if f.required && !g.required {
			out.Required = append(out.Required, f.name)
		}
		if f.shape.equal(g.shape) {
			continue
		}
		inner, ok := w.narrowed(f.shape, g.shape)
		exact = exact && ok
		if isEmpty(inner) {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[g.name] = inner
	}
	return out, exact
}

// narrowed is what s says beyond sum, without a type: there can be none inside
// of anyOf. It reports whether that is all.
func (w writer) narrowed(s, sum shape) (props, bool) {
	var out props
	rest, nullable := withoutNull(s)
	all, sumNullable := withoutNull(sum)
	kinds, sumKinds := kindsOf(rest), kindsOf(all)
	if kinds&(cue.ListKind|cue.StructKind) != 0 || kinds == cue.BottomKind || kinds&cue.TopKind == cue.TopKind {
		return out, false
	}
	if sumKinds&cue.TopKind == cue.TopKind {
		sumKinds = jsonKinds
	}
	others := excluding(sumKinds, kinds)
	if enum, ok := enumOf(rest); ok && !nullable && len(others) == 0 && (kinds&cue.IntKind == 0 || sumKinds&cue.FloatKind == 0) {
		out.Enum = enum
		return out, true
	}
	if len(others) > 0 {
		// The constraints of one kind must let the others be for their own to
		// speak of them.
		rest = append(slices.Clone(rest), ofKinds(sumKinds&^kinds&(cue.BoolKind|cue.NumberKind|cue.StringKind))...)
		if kinds&cue.NumberKind == cue.IntKind {
			rest = slices.DeleteFunc(rest, func(t term) bool { return t.equal(term{kind: cue.NumberKind}) })
		}
	}
	unsaid := w.scalars(&out, rest, nullable || sumNullable)
	out.AllOf = append(out.AllOf, others...)
	return out, len(unsaid) == 0 && nullable == sumNullable
}
