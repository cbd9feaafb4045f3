package translate

import (
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// Finish completes o, the struct of f, when all of its fields are known: it
// drops defaults that would change the meaning of other fields, and adds the
// rules for pending expressions. It returns the notes of what CEL can't express.
func (f *Frame) Finish(o *shape.Object, s Schema) []problem.Problem {
	f.object = o
	// Defaults are dropped first, because the rules depend on the defaults that
	// remain.
	for _, s := range f.Shared {
		forget(o, s)
	}
	var notes []problem.Problem
	for _, p := range f.Pending {
		notes = append(notes, f.resolve(s, p)...)
	}
	// These rules use the guards that resolve has recorded in f.Allowed.
	for _, g := range o.Fields {
		if u, ok := f.Unless[g.Name]; ok {
			notes = append(notes, f.give(g, u)...)
		}
	}
	if f.Guarded == nil || o.Open || f.Guarded.Open || f.Guarded.Deep {
		return notes
	}
	for _, g := range o.Fields {
		if g.Guarded {
			f.allow(g)
		}
	}
	return notes
}

// resolve translates p, which waited for the struct of f, into rules of that
// struct. It returns the notes of what CEL can't express. A rule depends on all
// fields that the translator looked at, even if its text names only some of them.
func (f *Frame) resolve(s Schema, p Pending) []problem.Problem {
	t := &translator{schema: s, frame: f, frames: p.Frames, segments: p.Segments, blurred: p.Blurred}
	translate := t.fieldRule
	if p.Comprehension != nil {
		translate = t.comprehension
	}
	rules, ok := translate(p)
	if !ok {
		return append(t.notes, p.Notes...)
	}
	for _, q := range rules {
		q.Notes = p.Notes
		q.Defaulted, q.Fields = t.defaulted, t.fields
		f.object.Rules = append(f.object.Rules, q)
	}
	return t.notes
}
