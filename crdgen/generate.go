package crdgen

import (
	"context"
	"fmt"

	"cuelang.org/go/cue"
	"github.com/pequod-io/pequod/internal/schema/read"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Result is a generated CRD and what it leaves to rendering.
type Result struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// Notes are in the order of their positions, without duplicates.
	Notes problem.List
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
		in, err := read.Value(v, "#Input", "spec")
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
	spec, status *read.Result
	// refused are the rules that the API server doesn't take.
	refused map[ruleKey]bool
}

// assemble writes the CRD without the rules that were refused.
func assemble(versions []*version, names v1alpha1.Names) (*apiextensionsv1.CustomResourceDefinition, problem.List, error) {
	crd := newCRD(names)
	var all noteList
	for _, v := range versions {
		written, err := v.write()
		if err != nil {
			return nil, nil, err
		}
		all.put(written.notes.list...)
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
	out.notes.put(v.spec.Notes...)
	f := v.spec.Field
	out.spec = w.field(f, place{path: "spec", pos: f.Pos, defaults: true, schema: ".properties[spec]", fields: []string{"spec"}})
	out.required = f.Default == nil
	if v.status != nil {
		out.notes.put(v.status.Notes...)
		w.addStatus(&out.status, v.status.Field)
	}
	return out, err
}
