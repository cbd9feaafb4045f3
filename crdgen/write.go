package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// props is one OpenAPI schema.
type props = apiextensionsv1.JSONSchemaProps

// writer writes shapes as structural schemas. It adds a note for whatever a
// schema and CEL can't express. It is passed by value and has no state of its
// own: it is valid for one version and one round, and its results are behind the
// pointers.
type writer struct {
	// notes collects the notes.
	notes *noteList
	// refused are the rules to leave out, because the API server didn't accept
	// them.
	refused map[ruleKey]bool
	// columns collects the printer columns of @k8s attributes.
	columns *[]apiextensionsv1.CustomResourceColumnDefinition
	// err is the first error in an attribute.
	err *error
}

// fail keeps the first error.
func (w writer) fail(err error) {
	if *w.err == nil {
		*w.err = err
	}
}

// location is the position of a shape in the CRD.
type location struct {
	// path is the field in notes, such as spec.ports[].name, and pos its
	// position in the CUE schema.
	path string
	pos  problem.Position
	// defaults allows defaults to be written. They are not written in the
	// members of a choice, because they would depend on the member that an
	// instance means.
	defaults bool
	// bare means that there is no type, so that no rule can be written.
	bare bool
	// schema is the path in the CRD's schema, as the API server's errors write
	// it.
	schema string
	// fields are the names of the fields that lead here, for printer columns.
	fields []string
}

// in returns the location of a part: name is "[]" for items, ".*" for values, and
// "." with a name for a field. A part without a position in the CUE schema has
// that of the whole.
func (p location) in(name string, pos problem.Position) location {
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
func (w writer) field(f shape.Field, p location) props {
	out := w.schema(f.Shape, p)
	out.Description = descriptionOf(f, out)
	w.attributes(&out, f, p)
	writeDefault(&out, f, p)
	return out
}

// schema writes a shape with its type, and its checks as rules. For int & >=1 &
// <=9 it returns the type integer with minimum 1 and maximum 9.
func (w writer) schema(s shape.Shape, p location) props {
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

// typed writes a shape except for its checks.
func (w writer) typed(s shape.Shape, p location) props {
	yes := true
	s, nullable := shape.WithoutNull(s)
	out := props{Nullable: nullable}
	switch kinds := shape.KindsOf(s); kinds {
	case shape.TopKind:
		// The API server drops null from fields that aren't nullable.
		return props{XPreserveUnknownFields: &yes, Nullable: true}
	// Only null is admitted, so all other kinds are excluded.
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
	// A rule covers the constraints that the schema had to leave out.
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

// restOf returns what remains to rendering, of something that the schema leaves
// out, if there is a rule about it.
func restOf(unsaid string) string {
	if f, ok := shape.FormatOf(unsaid); ok {
		return cel.FormatRest(f)
	}
	if strings.HasPrefix(unsaid, "math.MultipleOf(") {
		return unsaid + " beyond 1e9 and in more digits than a float has"
	}
	return unsaid
}

// checkText returns the subject of the note about a check that can't be
// written.
func checkText(c shape.Check) string {
	if len(c.Text) > maxMessage {
		return shorten(c.Text)
	}
	return c.Text
}
