package crdgen

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/schema/read"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// readStatus reads a module's #Status, which may be absent. Status is written
// field by field, so none of its fields is required, and no rule relates several
// of them. The result is nil for a module without #Status.
func readStatus(v cue.Value) (*read.Result, error) {
	if !v.Exists() {
		return nil, nil
	}
	s, err := read.Value(v, "#Status", "status")
	if err != nil {
		return nil, err
	}
	if len(s.Field.Shape) != 1 {
		return nil, errors.Newf(v.Pos(), "#Status: is a choice between structs: want one")
	}
	o := s.Field.Shape[0].Object
	ours := statusSchema().Properties
	for i := range o.Fields {
		f := &o.Fields[i]
		if _, clash := ours[f.Name]; clash {
			return nil, problemAt(f.Pos, "status."+f.Name, "every generated kind has this field; known are %v", slices.Sorted(maps.Keys(ours)))
		}
		f.Required, f.Optional, f.Default = false, true, nil
	}
	if o.Values != nil || o.Open {
		return nil, errors.Newf(v.Pos(), "#Status: has to list its fields")
	}
	for _, r := range o.Rules {
		for _, n := range r.Notes {
			// Rendering doesn't check status either.
			n.Message = "what the fields of status demand of each other is not checked"
			s.Notes = append(s.Notes, n)
		}
	}
	o.Rules, o.Min = nil, nil
	return s, nil
}

// OwnStatus returns the names of the fields that a module's #Status adds to the status of a
// generated CRD, sorted.
func OwnStatus(crd *apiextensionsv1.CustomResourceDefinition) []string {
	ours := statusSchema().Properties
	for _, v := range crd.Spec.Versions {
		if !v.Storage || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		names := slices.Sorted(maps.Keys(v.Schema.OpenAPIV3Schema.Properties["status"].Properties))
		return slices.DeleteFunc(names, func(name string) bool {
			_, ok := ours[name]
			return ok
		})
	}
	return nil
}

// addStatus adds the fields of a module's #Status to those that every kind has.
func (w writer) addStatus(status *props, f shape.Field) {
	at := location{path: "status", pos: f.Pos, schema: ".properties[status]", fields: []string{"status"}}
	own := w.field(f, at)
	for name, p := range own.Properties {
		status.Properties[name] = p
	}
	if own.Description != "" {
		status.Description = own.Description
	}
}
