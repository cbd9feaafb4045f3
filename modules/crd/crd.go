// Package crd generates the CRDs of platforms. Package crdgen, which does the work,
// knows schemas and no platforms.
package crd

import (
	"errors"

	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/render"
)

// Generate generates the CRD of a platform. Errors of CUE become a [problem.List] with
// positions in the module. An attribute that has no effect is an error. Notes without a position get the position of the platform.
func Generate(p *render.Platform) (*crdgen.Result, error) {
	if ps := misplaced(p.Module); len(ps) > 0 {
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
	return made, nil
}
