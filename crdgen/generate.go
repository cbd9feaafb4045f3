package crdgen

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/internal/schema/read"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Result is a generated CRD and the notes about it.
type Result struct {
	// CRD has passed the API server's own validation.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Notes name what CUE rejects and the CRD doesn't; rendering an instance
	// still enforces it. Each has the position in the schema, if known, the
	// field of the instance, such as "spec.ports[].name" or "spec.env.*", where
	// [] stands for any item and * for any key, and a sentence such as
	// "list.UniqueItems() is enforced when rendering, not by the CRD". They are
	// sorted by position, without duplicates.
	Notes problem.List
}

// Generate makes the CRD of the kind that names describes. Its versions are
// those of names.Versions, or names.Version alone if there are none. inputs has
// the #Input of each version, by name, as the schema of its spec. status is the
// module's #Status, or the zero value if there is none; its fields are added to
// those that the status of every generated kind has.
//
// Errors in the schema, such as recursion, have the positions of their causes:
// they are CUE errors, see [errors.Positions], or a [problem.List]. A rule that
// the API server doesn't accept is no error: it is dropped, with a note.
func Generate(inputs map[string]cue.Value, status cue.Value, names v1alpha1.Names) (*Result, error) {
	kinds := names.Versions
	if len(kinds) == 0 {
		kinds = []v1alpha1.KindVersion{{Name: names.Version, Served: true}}
	}
	ofStatus, err := readStatus(status)
	if err != nil {
		return nil, err
	}
	var versions []*version
	for _, k := range kinds {
		in, err := read.Value(inputs[k.Name], "#Input", "spec")
		if err != nil && len(kinds) > 1 {
			return nil, fmt.Errorf("version %s: %w", k.Name, err)
		} else if err != nil {
			return nil, err
		}
		// All versions share the status.
		versions = append(versions, &version{KindVersion: k, spec: in, status: ofStatus, refused: map[ruleKey]bool{}, spared: map[ruleKey]bool{}})
	}
	for {
		crd, notes, err := assemble(versions, names)
		if err != nil {
			return nil, err
		}
		problems, err := problemsOf(crd)
		if err != nil {
			return nil, err
		}
		if len(problems) == 0 {
			return &Result{CRD: crd, Notes: notes}, nil
		}
		// A rule that is too expensive for an API server is dropped, with a
		// note, and the rest is validated again. Every round drops a rule, so
		// the loop ends.
		again := false
		for i, v := range versions {
			again = v.requireSpec(schemaField(i, len(versions)), problems) || again
		}
		if again {
			continue
		}
		for i, v := range versions {
			again = v.refuse(*crd.Spec.Versions[i].Schema.OpenAPIV3Schema, schemaField(i, len(versions)), problems) || again
		}
		if !again {
			if again, err = refuseCostliest(versions, crd, problems); err != nil {
				return nil, err
			}
		}
		if !again {
			for i, v := range versions {
				if err := refusedAttributes(v.attributed, schemaField(i, len(versions)), problems); err != nil {
					return nil, err
				}
			}
			return nil, problemsError(crd, problems)
		}
	}
}

// version is one version of the kind.
type version struct {
	v1alpha1.KindVersion
	// spec and status are the shapes of #Input and #Status. status is nil without
	// a #Status.
	spec, status *read.Result
	// refused are the rules that the API server doesn't accept. [writer.rule]
	// leaves them out.
	refused map[ruleKey]bool
	// attributed are the fields with @k8s attributes, once the version is written.
	attributed []attributed
	// spared are the rules to drop first.
	spared map[ruleKey]bool
	// own are the rules of the author, which are never dropped, once the version is
	// written.
	own map[ruleKey]bool
	// needsSpec leaves out the default of spec.
	needsSpec bool
}

// requireSpec leaves out the default of spec if the author's rules refuse it, and reports
// whether it did. An instance without a spec is then refused, as one with an empty spec is.
func (v *version) requireSpec(name string, problems fieldpath.ErrorList) bool {
	if v.needsSpec || len(v.own) == 0 {
		return false
	}
	v.needsSpec = slices.ContainsFunc(problems, func(e *fieldpath.Error) bool { return strings.HasPrefix(e.Field, name+".properties[spec].default") })
	return v.needsSpec
}

// assemble writes the CRD without the refused rules.
func assemble(versions []*version, names v1alpha1.Names) (*apiextensionsv1.CustomResourceDefinition, problem.List, error) {
	crd := newCRD(names)
	var all noteList
	for _, v := range versions {
		written, err := v.write(names.Scale)
		if err != nil {
			return nil, nil, err
		}
		all.put(written.notes.list...)
		crd.Spec.Versions = append(crd.Spec.Versions, newVersion(names, v.KindVersion, written))
	}
	return crd, all.sorted(), nil
}

// write writes the schemas of spec and status, and the scale subresource if the module
// names one.
func (v *version) write(scale *v1alpha1.Scale) (*written, error) {
	out := &written{status: statusSchema(), own: map[ruleKey]bool{}}
	var err error
	// The writer shares out and the error by pointers, because
	// it is passed by value.
	w := writer{notes: &out.notes, refused: v.refused, spared: v.spared, results: out, err: &err}
	out.notes.put(v.spec.Notes...)
	f := v.spec.Field
	if v.needsSpec {
		f.Default = nil
	}
	out.spec = w.field(f, location{path: "spec", pos: f.Pos, defaults: true, schema: ".properties[spec]", fields: []string{"spec"}})
	// An instance may leave out a spec that has a default.
	out.required = f.Default == nil
	if v.status != nil {
		out.notes.put(v.status.Notes...)
		w.addStatus(&out.status, v.status.Field)
	}
	if err == nil {
		err = out.checkScale()
	}
	if err == nil {
		err = out.platformScale(scale, f.Pos)
	}
	v.attributed, v.own = out.attributed, out.own
	return out, err
}
