package render

import (
	"cuelang.org/go/cue"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// checkStatus returns the problems of outputs that aren't of the type of the field of #Status
// with their name: the manager writes them to this field, where the API server would refuse
// them. v is the evaluated #Render. The values of late references are known only in a cluster.
func (b *builtModule) checkStatus(v cue.Value) problem.List {
	status := b.root.LookupPath(cue.MakePath(cue.Def("Status")))
	if !status.Exists() {
		return nil
	}
	outputs, err := v.LookupPath(cue.MakePath(cue.Str("output"), cue.Str("outputs"))).Fields()
	if err != nil {
		return nil // there are no outputs, or graph reports the error
	}
	var problems problem.List
	for outputs.Next() {
		name := outputs.Selector().Unquoted()
		field := status.LookupPath(cue.MakePath(cue.Str(name)))
		if !field.Exists() {
			field = status.LookupPath(cue.MakePath(cue.Str(name).Optional()))
		}
		value, _ := outputs.Value().Default()
		if !field.Exists() || isLate(value) {
			continue
		}
		if err := field.Unify(value).Validate(); err != nil {
			d := &decoder{}
			d.addCUEError(value, fieldpath.Join("outputs", name), err)
			for i := range d.problems {
				d.problems[i].Position = cuesyntax.Position(value.Pos())
				d.problems[i].Message = "not a value of #Status." + name + ": " + d.problems[i].Message
			}
			problems = append(problems, d.problems...)
		}
	}
	return problems
}

// isLate reports whether a value is or contains a late reference.
func isLate(v cue.Value) bool {
	late := false
	v.Walk(func(v cue.Value) bool {
		late = late || v.IncompleteKind() == cue.StructKind && v.LookupPath(cue.MakePath(cue.Str(reference.FromKey))).Exists()
		return !late
	}, nil)
	return late
}
