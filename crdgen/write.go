package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

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
	pos  problem.Position
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

func (p place) in(name string, pos problem.Position) place {
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
	if pos.Line > 0 {
		p.pos = pos
	}
	return p
}

// field writes a field with its description and default.
func (w writer) field(f shape.Field, p place) props {
	out := w.schema(f.Shape, p)
	out.Description = descriptionOf(f, out)
	w.attributes(&out, f, p)
	if p.defaults && f.Default != nil {
		out.Default = &apiextensionsv1.JSON{Raw: f.Default}
	}
	return out
}

// schema writes a shape with its type.
func (w writer) schema(s shape.Shape, p place) props {
	out := w.typed(s, p)
	checks := shape.ChecksOf(s)
	if len(checks) == 0 {
		return out
	}
	var texts []string
	for _, c := range checks {
		texts = append(texts, checkText(c))
	}
	if !w.rule(&out, p, cel.Holds(s, shape.WithoutChecks(s), "self"), "must satisfy "+strings.Join(texts, " and ")) {
		for _, text := range texts {
			w.notes.add(p.pos, p.path, "%s", text)
		}
	}
	return out
}

// typed writes a shape but for its checks.
func (w writer) typed(s shape.Shape, p place) props {
	yes := true
	s, nullable := shape.WithoutNull(s)
	out := props{Nullable: nullable}
	switch kinds := shape.KindsOf(s); kinds {
	case shape.TopKind:
		// The API server drops null from fields that aren't nullable.
		return props{XPreserveUnknownFields: &yes, Nullable: true}
	case shape.BottomKind:
		out.XPreserveUnknownFields = &yes
		out.AllOf = excluding(jsonKinds, shape.BottomKind)
		return out
	case shape.ListKind:
		w.list(&out, s, p)
		return out
	case shape.StructKind:
		w.structs(&out, s, p)
		return out
	case shape.BoolKind:
		out.Type = "boolean"
	case shape.IntKind:
		out.Type = "integer"
	case shape.NumberKind, shape.FloatKind:
		out.Type = "number"
	case shape.StringKind:
		out.Type = "string"
	case shape.IntKind | shape.StringKind:
		out.XIntOrString = true
	default:
		w.mixed(&out, s, p)
		p.bare = true
	}
	unsaid := w.scalars(&out, s, nullable)
	if len(unsaid) == 0 {
		return out
	}
	declared := shape.OfKinds(shape.KindsOf(s) &^ (shape.ListKind | shape.StructKind))
	if nullable {
		s, declared = append(s, shape.Term{Kind: shape.NullKind}), append(declared, shape.Term{Kind: shape.NullKind})
	}
	q := cel.Unknown()
	if !p.bare {
		q = cel.Holds(s, declared, "self")
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
	if f, ok := shape.FormatOf(unsaid); ok {
		return cel.FormatRest(f)
	}
	if strings.HasPrefix(unsaid, "math.MultipleOf(") {
		return unsaid + " beyond 1e9 and in more digits than a float has"
	}
	return unsaid
}

// unsaid is what the note says where a check can't be written.
func checkText(c shape.Check) string {
	if len(c.Text) > maxMessage {
		return shorten(c.Text)
	}
	return c.Text
}
