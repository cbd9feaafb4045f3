package crdgen

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
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

// Options are what a CRD is made of besides its kind's #Input.
type Options struct {
	// Status is the module's #Status; the zero value stands for none. Its
	// fields join those that the status of every generated kind has.
	Status cue.Value
	// Inputs are the schemas of the versions besides the stored one, by name.
	Inputs map[string]cue.Value
}

// Generate makes the CRD of the kind that names describes, with input, a
// module's #Input, as the schema of its spec. The CRD has passed [Validate].
//
// Errors in the schema, recursion among them, carry the positions of their
// causes: see [errors.Positions].
func Generate(input cue.Value, names v1alpha1.Names) (*Result, error) {
	return Options{}.Generate(input, names)
}

// Generate is like the function of this name, with options. The versions are
// those of names.Versions, or names.Version alone where there are none; input is
// the schema of names.Version.
func (o Options) Generate(input cue.Value, names v1alpha1.Names) (*Result, error) {
	kinds := names.Versions
	if len(kinds) == 0 {
		kinds = []v1alpha1.KindVersion{{Name: names.Version, Served: true}}
	}
	status, err := readStatus(o.Status)
	if err != nil {
		return nil, err
	}
	var versions []*version
	for _, k := range kinds {
		v := input
		if k.Name != names.Version {
			v = o.Inputs[k.Name]
		}
		in, err := readSpec(v)
		if err != nil && len(kinds) > 1 {
			return nil, fmt.Errorf("version %s: %w", k.Name, err)
		} else if err != nil {
			return nil, err
		}
		versions = append(versions, &version{KindVersion: k, spec: in, status: status, refused: map[ruleKey]bool{}})
	}
	for {
		crd, notes, err := assemble(versions, names)
		if err != nil {
			return nil, err
		}
		problems, err := problemsOf(context.Background(), crd)
		if err != nil {
			return nil, err
		}
		if len(problems) == 0 {
			return &Result{CRD: crd, Notes: notes}, nil
		}
		// A rule that costs more than an API server grants is left out, with a
		// note, and the rest is tried again.
		again := false
		for i, v := range versions {
			again = refuse(v.refused, *crd.Spec.Versions[i].Schema.OpenAPIV3Schema, schemaField(i, len(versions)), problems) || again
		}
		if !again {
			if again, err = refuseCostliest(versions, crd, problems); err != nil {
				return nil, err
			}
		}
		if !again {
			return nil, problemsError(crd, problems)
		}
	}
}

// version is one version of the kind.
type version struct {
	v1alpha1.KindVersion
	spec, status *specShape
	// refused are the rules that the API server doesn't take.
	refused map[ruleKey]bool
}

// assemble writes the CRD without the rules that were refused.
func assemble(versions []*version, names v1alpha1.Names) (*apiextensionsv1.CustomResourceDefinition, []Note, error) {
	crd := newCRD(names)
	var all noteList
	for _, v := range versions {
		written, err := v.write()
		if err != nil {
			return nil, nil, err
		}
		for _, n := range written.notes.list {
			all.put(n)
		}
		crd.Spec.Versions = append(crd.Spec.Versions, newVersion(names, v.KindVersion, written))
	}
	return crd, all.sorted(), nil
}

// written is the schema of a version.
type written struct {
	spec, status props
	// required says that there is no object without a spec.
	required bool
	columns  []apiextensionsv1.CustomResourceColumnDefinition
	notes    noteList
}

// write writes the schemas of spec and status.
func (v *version) write() (*written, error) {
	out := &written{status: statusSchema()}
	var err error
	w := writer{notes: &out.notes, refused: v.refused, columns: &out.columns, err: &err}
	for _, n := range v.spec.notes.list {
		out.notes.put(n)
	}
	f := v.spec.field
	out.spec = w.field(f, place{path: "spec", pos: f.pos, defaults: true, schema: ".properties[spec]", fields: []string{"spec"}})
	out.required = f.value == nil
	if v.status != nil {
		for _, n := range v.status.notes.list {
			out.notes.put(n)
		}
		v.status.addTo(&out.status, w)
	}
	return out, err
}

// specShape is what was read of an #Input or a #Status.
type specShape struct {
	field field
	notes noteList
}

// readSpec reads an #Input.
func readSpec(input cue.Value) (*specShape, error) {
	out, err := read(input, "#Input", "spec")
	if err == nil && input.Validate(cue.Concrete(true)) == nil {
		out.field.value = defaultOf(input)
	}
	return out, err
}

// read reads the definition def as the field path.
func read(v cue.Value, def, path string) (s *specShape, err error) {
	defer func() {
		// CUE v0.17.1 panics over some disjunctions and cycles.
		if r := recover(); r != nil && fromCUE() {
			s, err = nil, errors.Newf(v.Pos(), "%s: CUE can't evaluate it: %v", def, r)
		} else if r != nil {
			panic(r)
		}
	}()
	return readDefinition(v, def, path)
}

// fromCUE says whether CUE's evaluator is panicking.
func fromCUE() bool {
	stack := string(debug.Stack())
	_, panicking, _ := strings.Cut(stack, "panic(")
	return strings.Contains(panicking, "cuelang.org/go/internal/")
}

func readDefinition(v cue.Value, def, path string) (*specShape, error) {
	if !v.Exists() {
		return nil, fmt.Errorf("%s: %w", def, v.Err())
	}
	invalid := v.Validate()
	if len(errors.Positions(invalid)) > 0 {
		return nil, fmt.Errorf("%s: %w", def, invalid)
	}
	r := &reader{at: v.Pos(), closed: v.IsClosedRecursively(), input: v}
	s := r.shape(v, path, nil)
	switch {
	case r.err != nil:
		// CUE reports some cycles without a position; the reader knows one.
		return nil, r.err
	case invalid != nil:
		return nil, errors.Wrapf(invalid, v.Pos(), "%s", def)
	}
	for _, t := range s {
		if t.kind != cue.StructKind {
			return nil, errors.Newf(v.Pos(), "%s: is %v: want a struct", def, v.IncompleteKind())
		}
	}
	if len(s) == 0 {
		return nil, errors.Newf(v.Pos(), "%s: admits no value", def)
	}
	return &specShape{field: field{name: path, shape: s, description: description(v), pos: v.Pos()}, notes: r.notes}, nil
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
	n.put(Note{Pos: pos, Path: path, Message: fmt.Sprintf(format, args...) + " is enforced when rendering, not by the CRD"})
}

func (n *noteList) put(note Note) {
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
