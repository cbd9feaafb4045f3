package crdgen

import (
	"math/bits"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// writer says shapes as structural schemas. What a structural schema can't say
// it leaves out, with a note.
type writer struct {
	notes *noteList
	// refused are the rules that the API server doesn't take.
	refused map[ruleKey]bool
	// columns are the printer columns that fields ask for.
	columns *[]apiextensionsv1.CustomResourceColumnDefinition
	// err is the first error of an attribute.
	err *error
}

func (w writer) fail(err error) {
	if *w.err == nil {
		*w.err = err
	}
}

// place is where a shape stands.
type place struct {
	path string
	pos  token.Pos
	// defaults says whether defaults may be written: not inside of members of
	// a choice, where they depend on which member is meant.
	defaults bool
	// bare says that no rules can be written: there is no type.
	bare bool
	// schema is the place in the CRD's schema.
	schema string
	// fields are the names that lead here.
	fields []string
}

func (p place) in(name string, pos token.Pos) place {
	p.path += name
	switch name {
	case "[]":
		p.schema += ".items"
	case ".*":
		p.schema += ".additionalProperties"
	default:
		p.schema += ".properties[" + name[1:] + "]"
		p.fields = append(slices.Clone(p.fields), name[1:])
	}
	if pos.IsValid() {
		p.pos = pos
	}
	return p
}

// field writes a field with its description and default.
func (w writer) field(f field, p place) props {
	out := w.schema(f.shape, p)
	out.Description = f.described(out)
	w.attributes(&out, f, p)
	if p.defaults && f.value != nil {
		out.Default = &apiextensionsv1.JSON{Raw: f.value}
	}
	return out
}

// schema writes a shape with its type.
func (w writer) schema(s shape, p place) props {
	out := w.typed(s, p)
	checks := checksOf(s)
	if len(checks) == 0 {
		return out
	}
	var texts []string
	for _, c := range checks {
		texts = append(texts, c.unsaid())
	}
	if !w.rule(&out, p, holds(s, unchecked(s), "self"), "must satisfy "+strings.Join(texts, " and ")) {
		for _, text := range texts {
			w.notes.add(p.pos, p.path, "%s", text)
		}
	}
	return out
}

// typed writes a shape but for its checks.
func (w writer) typed(s shape, p place) props {
	yes := true
	s, nullable := withoutNull(s)
	out := props{Nullable: nullable}
	switch kinds := kindsOf(s); kinds {
	case cue.TopKind:
		// The API server drops null from fields that aren't nullable.
		return props{XPreserveUnknownFields: &yes, Nullable: true}
	case cue.BottomKind:
		out.XPreserveUnknownFields = &yes
		out.AllOf = excluding(jsonKinds, cue.BottomKind)
		return out
	case cue.ListKind:
		w.list(&out, s, p)
		return out
	case cue.StructKind:
		w.structs(&out, s, p)
		return out
	case cue.BoolKind:
		out.Type = "boolean"
	case cue.IntKind:
		out.Type = "integer"
	case cue.NumberKind, cue.FloatKind:
		out.Type = "number"
	case cue.StringKind:
		out.Type = "string"
	case cue.IntKind | cue.StringKind:
		out.XIntOrString = true
	default:
		w.mixed(&out, s, p)
		p.bare = true
	}
	unsaid := w.scalars(&out, s, nullable)
	if len(unsaid) == 0 {
		return out
	}
	declared := ofKinds(kindsOf(s) &^ (cue.ListKind | cue.StructKind))
	if nullable {
		s, declared = append(s, term{kind: cue.NullKind}), append(declared, term{kind: cue.NullKind})
	}
	q := unknown()
	if !p.bare {
		q = holds(s, declared, "self")
	}
	if !w.rule(&out, p, q, "must satisfy "+strings.Join(unsaid, " and ")) {
		for _, f := range unsaid {
			w.notes.add(p.pos, p.path, "%s", restOf(f))
		}
	}
	return out
}

// restOf is what a rule leaves to rendering of what a schema leaves out.
func restOf(unsaid string) string {
	if f, ok := formatOf(unsaid); ok {
		return f.rest()
	}
	if strings.HasPrefix(unsaid, "math.MultipleOf(") {
		return unsaid + " beyond 1e9 and in more digits than a float has"
	}
	return unsaid
}

// withoutNull splits null off.
func withoutNull(s shape) (shape, bool) {
	rest := slices.DeleteFunc(slices.Clone(s), func(t term) bool { return t.kind == cue.NullKind })
	return rest, len(rest) < len(s)
}

// kindsOf is the union of the terms' kinds; TopKind only for anything.
func kindsOf(s shape) cue.Kind {
	var kinds cue.Kind
	for _, t := range s {
		kinds |= t.kind
	}
	return kinds
}

// isMixed says whether kinds are of more than one JSON type.
func isMixed(kinds cue.Kind) bool {
	return bits.OnesCount16(uint16(kinds&^cue.NumberKind)) > 1 || kinds&cue.NumberKind != 0 && kinds&^cue.NumberKind != 0
}
