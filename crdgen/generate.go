package crdgen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Result is a generated CRD and what it leaves to rendering.
type Result struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// Notes are in the order of their positions, without duplicates.
	Notes []Note
}

// Note names something that CUE rejects and the CRD doesn't. It is enforced
// when an instance is rendered.
type Note struct {
	// Pos is where the CUE schema says it; it may be invalid for values that
	// have no source.
	Pos token.Pos
	// Path is the field of the instance, such as "spec.ports[].name" or
	// "spec.env.*", where [] stands for any item and * for any key.
	Path string
	// Message is a sentence without its position, such as
	// "list.UniqueItems() is enforced when rendering, not by the CRD".
	Message string
}

// Generate makes the CRD of the kind that names describes, with input, a
// module's #Input, as the schema of its spec. The CRD has passed [Validate].
//
// Errors in the schema, recursion among them, carry the positions of their
// causes: see [errors.Positions].
func Generate(input cue.Value, names v1alpha1.Names) (*Result, error) {
	schema, notes, err := specSchema(input)
	if err != nil {
		return nil, err
	}
	crd := newCRD(names, schema)
	if err := Validate(context.Background(), crd); err != nil {
		return nil, err
	}
	return &Result{CRD: crd, Notes: notes}, nil
}

// spec is the schema of the generated kind's spec and how the object holds it.
type spec struct {
	schema   apiextensionsv1.JSONSchemaProps
	required bool
}

// specSchema reads input and writes it as the schema of spec.
func specSchema(input cue.Value) (spec, []Note, error) {
	if !input.Exists() {
		return spec{}, nil, fmt.Errorf("#Input: %w", input.Err())
	}
	invalid := input.Validate()
	if len(errors.Positions(invalid)) > 0 {
		return spec{}, nil, fmt.Errorf("#Input: %w", invalid)
	}
	r := &reader{at: input.Pos(), closed: input.IsClosedRecursively()}
	s := r.shape(input, "spec", nil)
	switch {
	case r.err != nil:
		// CUE reports some cycles without a position; the reader knows one.
		return spec{}, nil, r.err
	case invalid != nil:
		return spec{}, nil, errors.Wrapf(invalid, input.Pos(), "#Input")
	}
	for _, t := range s {
		if t.kind != cue.StructKind {
			return spec{}, nil, errors.Newf(input.Pos(), "#Input: is %v: want a struct", input.IncompleteKind())
		}
	}
	if len(s) == 0 {
		return spec{}, nil, errors.Newf(input.Pos(), "#Input: admits no value")
	}
	w := writer{notes: &r.notes}
	f := field{shape: s, description: description(input)}
	if input.Validate(cue.Concrete(true)) == nil {
		f.value = defaultOf(input)
	}
	out := spec{schema: w.field(f, place{path: "spec", pos: input.Pos(), defaults: true}), required: f.value == nil}
	return out, r.notes.sorted(), nil
}

// description joins the doc comments of v.
func description(v cue.Value) string {
	var parts []string
	seen := map[string]bool{}
	for _, group := range v.Doc() {
		text := strings.TrimSpace(group.Text())
		if text != "" && !seen[text] {
			seen[text] = true
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		if d := cue.Dereference(v); d != v {
			return description(d)
		}
	}
	return strings.Join(parts, "\n\n")
}

// noteList collects notes once each.
type noteList struct {
	list []Note
	seen map[Note]bool
}

func (n *noteList) add(pos token.Pos, path, format string, args ...any) {
	note := Note{Pos: pos, Path: path, Message: fmt.Sprintf(format, args...) + " is enforced when rendering, not by the CRD"}
	if n.seen[note] {
		return
	}
	if n.seen == nil {
		n.seen = map[Note]bool{}
	}
	n.seen[note] = true
	n.list = append(n.list, note)
}

// sorted is the notes by position, then by path.
func (n *noteList) sorted() []Note {
	slices.SortStableFunc(n.list, func(a, b Note) int {
		return cmp.Or(
			strings.Compare(a.Pos.Filename(), b.Pos.Filename()),
			cmp.Compare(a.Pos.Offset(), b.Pos.Offset()),
			strings.Compare(a.Path, b.Path),
		)
	})
	return n.list
}
