package crdgen

import (
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// readStatus reads a module's #Status, which may be absent. Status is written
// bit by bit, so none of its fields is required, and no rule is about several of
// them.
func readStatus(v cue.Value) (*specShape, error) {
	if !v.Exists() {
		return nil, nil
	}
	s, err := read(v, "#Status", "status")
	if err != nil {
		return nil, err
	}
	if len(s.field.shape) != 1 {
		return nil, errors.Newf(v.Pos(), "#Status: is a choice between structs: want one")
	}
	o := s.field.shape[0].object
	ours := statusSchema().Properties
	for i := range o.fields {
		f := &o.fields[i]
		if _, clash := ours[f.name]; clash {
			return nil, errors.Newf(f.pos, "status.%s: every generated kind has this field; known are %v", f.name, slices.Sorted(maps.Keys(ours)))
		}
		f.required, f.optional, f.value = false, true, nil
	}
	if o.values != nil || o.open {
		return nil, errors.Newf(v.Pos(), "#Status: has to list its fields")
	}
	for _, r := range o.rules {
		for _, n := range r.notes {
			s.unchecked(n)
		}
	}
	o.rules, o.min = nil, nil
	return s, nil
}

// unchecked says of a note that nobody checks it: status is not rendered.
func (in *specShape) unchecked(n Note) {
	n.Message = "what the fields of status demand of each other is not checked"
	in.notes.put(n)
}

// addTo puts the module's fields beside ours.
func (in *specShape) addTo(status *props, w writer) {
	if in == nil {
		return
	}
	at := place{path: "status", pos: in.field.pos, schema: ".properties[status]", fields: []string{"status"}}
	own := w.field(in.field, at)
	for name, p := range own.Properties {
		status.Properties[name] = p
	}
	if own.Description != "" {
		status.Description = own.Description
	}
}
