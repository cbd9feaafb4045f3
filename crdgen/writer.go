package crdgen

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/problem"
)

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
	// spared are the rules that repeat what the schema can express as well.
	spared map[ruleKey]bool
	// results collects what @k8s attributes add outside the schema.
	results *written
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
	// chosen means that the schema is that of several members of a choice.
	chosen bool
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

// ruleKey identifies a rule by the path of the schema that has it, and its text.
// The key stays the same from one round of [Generate] to the next.
type ruleKey struct{ schema, text string }

// written holds the schemas of a version.
type written struct {
	spec, status props
	// required means that an object must have a spec.
	required bool
	// columns are the printer columns of @k8s attributes.
	columns []apiextensionsv1.CustomResourceColumnDefinition
	// scale is the scale subresource, or nil, and scaled the field that it sets.
	scale  *apiextensionsv1.CustomResourceSubresourceScale
	scaled attributed
	// attributed are the fields with @k8s attributes.
	attributed []attributed
	// own are the rules of @k8s attributes.
	own   map[ruleKey]bool
	notes noteList
}

// attributed is a field with @k8s attributes: the path of its schema as in
// [location].schema, its path in an instance, and its position.
type attributed struct {
	schema, path string
	pos          problem.Position
}
