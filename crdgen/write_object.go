package crdgen

import (
	"reflect"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func isEmpty(p props) bool { return reflect.DeepEqual(p, props{}) }

// structs writes structs.
func (w writer) structs(out *props, s shape.Shape, p place) {
	if len(s) == 1 {
		o := s[0].Object
		if sum, ok := mapValues(o); ok && len(o.Fields) > 0 && !p.bare {
			w.asMap(out, o, sum, p)
			return
		}
		w.object(out, o, p)
		return
	}
	w.choice(out, s, p)
}

// object writes one struct.
func (w writer) object(out *props, o *shape.Object, p place) {
	out.Type = "object"
	filled := o.Unlisted
	for _, f := range o.Fields {
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[f.Name] = w.field(f, p.in("."+f.Name, f.Pos))
		if f.Required {
			out.Required = append(out.Required, f.Name)
		}
		filled = filled || !f.Required && !f.Optional || f.GuardFills || f.Guarded
	}
	w.others(out, o, p)
	out.MaxProperties = o.Max
	switch {
	case o.Min == nil:
	case filled:
		// The fields that rendering fills in count, too.
		least := *o
		least.Max = nil
		if !w.rule(out, p, cel.HoldsCount(&least, o, "self"), "must have at least "+cel.Itoa(*o.Min)+" fields") {
			w.notes.add(p.pos, p.path, "struct.MinFields(%d)", *o.Min)
		}
	default:
		out.MinProperties = o.Min
	}
	w.rules(out, o, p)
}

// others writes what o says about fields that it doesn't list.
func (w writer) others(out *props, o *shape.Object, p place) {
	yes := true
	switch {
	case o.Values == nil:
		if o.Open {
			out.XPreserveUnknownFields = &yes
		}
	case o.Values.Equal(shape.Any()):
		out.XPreserveUnknownFields = &yes
	case len(o.Fields) > 0 || o.Open:
		out.XPreserveUnknownFields = &yes
		w.notes.add(p.pos, p.path+".*", "what the fields that the schema doesn't name hold")
	default:
		schema := w.schema(o.Values, p.in(".*", problem.Position{}))
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema}
		w.keys(out, o, p)
		return
	}
	for _, k := range o.Patterns {
		w.notes.add(k.Pos, p.path+".*", "the constraint on fields that match %s", k.Text)
	}
}

// keys writes what a map demands of its keys.
func (w writer) keys(out *props, o *shape.Object, p place) {
	if len(o.Patterns) == 0 {
		return
	}
	q := cel.Unknown()
	if cel.IsAccessible(o.Values) {
		q = cel.AllOf(cel.HoldsKeys(o, "self", "key")...)
		if q.Text != "" {
			q.Text = "self.all(key, " + q.Text + ")"
		}
	}
	var texts []string
	for _, k := range o.Patterns {
		texts = append(texts, k.Text)
	}
	if w.rule(out, p, q, keysMessage(o, texts)) {
		return
	}
	for _, k := range o.Patterns {
		w.notes.add(k.Pos, p.path+".*", "that the key matches %s", k.Text)
	}
	if len(o.Patterns) > 1 {
		w.notes.add(o.Patterns[0].Pos, p.path+".*", "which key takes which value")
	}
}

func keysMessage(o *shape.Object, texts []string) string {
	if o.KeysClosed && len(texts) == 1 {
		return "each name must be " + texts[0]
	}
	return "each field must be what the schema says for names like " + strings.Join(texts, " and ")
}

// choice writes a choice between structs: all of their fields, and under anyOf
// what tells the members apart. A member is never told by the presence of a
// literal, which CUE fills in.
func (w writer) choice(out *props, s shape.Shape, p place) {
	p.defaults = false
	sum, alike := shape.ObjectEnvelope(s)
	w.object(out, sum, p)
	exact := alike && len(out.Properties) > 0
	var members []props
	for _, t := range s {
		m, ok := w.member(t.Object, sum)
		exact = exact && ok
		members = append(members, m)
	}
	if slices.ContainsFunc(members, isEmpty) {
		// One of them is open to everything that can be said here.
		exact, members = false, nil
	}
	out.AnyOf = members
	declared := shape.Shape{{Kind: shape.StructKind, Object: sum}}
	if !exact && !p.bare {
		var of []cel.Predicate
		for _, t := range s {
			of = append(of, cel.HoldsTerm(t, declared, declared, "self"))
		}
		exact = w.rule(out, p, cel.AnyOf(of...), "must be "+outlines(s))
	}
	switch {
	case !exact:
		w.notes.add(p.pos, p.path, "the choice between %d structs", len(s))
	case slices.ContainsFunc(s, func(t shape.Term) bool { return t.Object.Separate }):
	case !shape.AreExclusive(s) && (p.bare || !w.rule(out, p, cel.ExactlyOne(s, declared, "self"), "must be like one alone of "+outlines(s))):
		w.notes.add(p.pos, p.path, "that one of %d structs alone is meant", len(s))
	}
}

// member is what distinguishes o among the members of sum. It reports whether
// that is all of what o says.
func (w writer) member(o, sum *shape.Object) (props, bool) {
	var out props
	exact := len(o.Rules) == 0 && len(o.Patterns) == 0
	for _, g := range sum.Fields {
		f := o.Lookup(g.Name)
		if f == nil {
			if !o.Open && o.Values == nil {
				conjoin(&out, props{Not: &props{Required: []string{g.Name}}})
			}
			continue
		}
		if f.Required && !g.Required {
			out.Required = append(out.Required, f.Name)
		}
		if f.Shape.Equal(g.Shape) {
			continue
		}
		inner, ok := w.narrowed(f.Shape, g.Shape)
		exact = exact && ok
		if isEmpty(inner) {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[g.Name] = inner
	}
	return out, exact
}

// narrowed is what s says beyond sum, without a type: there can be none inside
// of anyOf. It reports whether that is all.
func (w writer) narrowed(s, sum shape.Shape) (props, bool) {
	var out props
	rest, nullable := shape.WithoutNull(s)
	all, sumNullable := shape.WithoutNull(sum)
	kinds, sumKinds := shape.KindsOf(rest), shape.KindsOf(all)
	if kinds&(shape.ListKind|shape.StructKind) != 0 || kinds == shape.BottomKind || kinds&shape.TopKind == shape.TopKind {
		return out, false
	}
	if sumKinds&shape.TopKind == shape.TopKind {
		sumKinds = jsonKinds
	}
	others := excluding(sumKinds, kinds)
	if enum, ok := enumOf(rest); ok && !nullable && len(others) == 0 && (kinds&shape.IntKind == 0 || sumKinds&shape.FloatKind == 0) {
		out.Enum = enum
		return out, true
	}
	if len(others) > 0 {
		// The constraints of one kind must let the others be for their own to
		// speak of them.
		rest = append(slices.Clone(rest), shape.OfKinds(sumKinds&^kinds&(shape.BoolKind|shape.NumberKind|shape.StringKind))...)
		if kinds&shape.NumberKind == shape.IntKind {
			rest = slices.DeleteFunc(rest, func(t shape.Term) bool { return t.Equal(shape.Term{Kind: shape.NumberKind}) })
		}
	}
	unsaid := w.scalars(&out, rest, nullable || sumNullable)
	out.AllOf = append(out.AllOf, others...)
	return out, len(unsaid) == 0 && nullable == sumNullable
}

// outline is a struct in few words, such as {type: "tcp", port, name?}.
func outline(o *shape.Object) string {
	var parts []string
	for _, f := range o.Fields {
		text := f.Name
		switch {
		case len(f.Shape) == 1 && f.Shape[0].Value != nil:
			text += ": " + string(f.Shape[0].Value.JSON)
		case f.Optional:
			text += "?"
		}
		parts = append(parts, text)
	}
	if o.Open || o.Values != nil {
		parts = append(parts, "...")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// outlines are the members of a choice.
func outlines(s shape.Shape) string {
	var parts []string
	for _, t := range s {
		parts = append(parts, outline(t.Object))
	}
	return strings.Join(parts, " or ")
}
