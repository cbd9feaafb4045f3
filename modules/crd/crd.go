// Package crd generates the CRDs of platforms. Package crdgen, which does the work,
// knows schemas and no platforms.
package crd

import (
	"errors"
	"fmt"

	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/render"
)

// Generate generates the CRD of a platform. Errors of CUE become a [problem.List] with
// positions in the module. An attribute that has no effect is an error, and so is an
// invalid regular expression. Notes without a position get the position of the
// platform. A definition that is used in several fields has each of its notes once. A CRD
// near etcd's limit has a warning.
func Generate(p *render.Platform) (*crdgen.Result, error) {
	if ps := append(misplaced(p.Module), badPatterns(p.Module)...); len(ps) > 0 {
		return nil, ps
	}
	inputs, status := p.Schemas()
	made, err := crdgen.Generate(inputs, status, p.Names)
	var cueErr cueerrors.Error
	if errors.As(err, &cueErr) {
		err = cueerror.ProblemsIn(p.From, err)
	}
	if err != nil {
		return nil, err
	}
	for i, n := range made.Notes {
		if n.Position.File == "" {
			made.Notes[i].Position = problem.Position{File: p.From}
		}
	}
	size, err := sizeProblem(made, p.From)
	if err != nil {
		return nil, err
	}
	made.Notes = append(onePerPosition(made.Notes), size...)
	return made, nil
}

// onePerPosition merges the notes that have the same message about the same
// position in the module. The first one counts the other fields.
func onePerPosition(notes problem.List) problem.List {
	var out problem.List
	places := map[problem.Problem]int{}
	keyOf := func(n problem.Problem) problem.Problem {
		if n.Position.Line > 0 {
			n.Path = ""
		}
		return n
	}
	for _, n := range notes {
		if places[keyOf(n)]++; places[keyOf(n)] == 1 {
			out = append(out, n)
		}
	}
	for i, n := range out {
		switch more := places[keyOf(n)] - 1; {
		case n.Position.Line == 0 || more == 0:
		case more == 1:
			out[i].Message += " (and 1 more place)"
		default:
			out[i].Message += fmt.Sprintf(" (and %d more places)", more)
		}
	}
	return out
}
