package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// structs writes structs.
func (w writer) structs(out *props, s shape.Shape, p location) {
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

// object writes one struct. It writes the fields, then the fields that o doesn't
// list, then the rules.
func (w writer) object(out *props, o *shape.Object, p location) {
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
	w.otherFields(out, o, p)
	out.MaxProperties = o.Max
	switch {
	case o.Min == nil:
	case filled:
		// Fields that rendering supplies count, too.
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

// choice writes a choice between structs: all of their fields, and a rule that
// demands one of the members. If there is no exact rule, or it is too expensive,
// anyOf has what distinguishes the members. The presence of a field with a literal value
// distinguishes nothing, because CUE supplies it. For {kind: "a", n: int} |
// {kind: "b", m: string} the schema has the fields kind, n and m, and anyOf would
// have
//
//   - {required: [n], not: {required: [m]}, properties: {kind: {enum: [a]}}}
//   - {required: [m], not: {required: [n]}, properties: {kind: {enum: [b]}}}
func (w writer) choice(out *props, s shape.Shape, p location) {
	p.defaults, p.chosen = false, true
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
		// One of the members admits everything that anyOf can express.
		exact, members = false, nil
	}
	declared := shape.Shape{{Kind: shape.StructKind, Object: sum}}
	ruled := false
	if !p.bare {
		var of []cel.Predicate
		for _, t := range s {
			of = append(of, cel.HoldsTerm(t, declared, declared, "self"))
		}
		q := cel.AnyOf(of...)
		if exact {
			w.spare(p, q)
		}
		// With anyOf, the API server would report one of the members, whichever
		// was meant.
		ruled = (q.Exact || !exact) && w.rule(out, p, q, "must be "+outlines(s))
	}
	if !ruled {
		out.AnyOf = members
	}
	exact = exact || ruled
	switch {
	case !exact:
		w.notes.add(p.pos, p.path, "the choice between %d structs", len(s))
	case slices.ContainsFunc(s, func(t shape.Term) bool { return t.Object.Separate }):
	case !shape.AreExclusive(s) && (p.bare || !w.rule(out, p, cel.ExactlyOne(s, declared, "self"), "must be like one alone of "+outlines(s))):
		w.notes.add(p.pos, p.path, "that one of %d structs alone is meant", len(s))
	}
}

// member writes what distinguishes o from the other members of sum. It reports
// whether that is all that o says. What it can't write makes the choice inexact,
// and a rule is added for all members.
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
		inner, ok := narrowed(f.Shape, g.Shape)
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

// areLiterals reports whether s is a short list of literals.
func areLiterals(s shape.Shape) bool {
	return len(s) > 0 && len(s) < 4 && !slices.ContainsFunc(s, func(t shape.Term) bool { return t.Value == nil })
}

// outline describes a struct in a message, such as {type: "tcp", port, name?}. It
// lists the names of the fields, and the values of those that are literals.
func outline(o *shape.Object) string {
	var parts []string
	for _, f := range o.Fields {
		text := f.Name
		switch {
		case areLiterals(f.Shape):
			text += ": " + alternativesOf(f.Shape)
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

// outlines describes the members of a choice. They are joined by "or".
func outlines(s shape.Shape) string {
	var parts []string
	for _, t := range s {
		parts = append(parts, outline(t.Object))
	}
	return strings.Join(parts, " or ")
}
