package render

import (
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
)

// posOf converts a position of CUE. An invalid one becomes the zero Position.
func posOf(p token.Pos) problem.Position {
	if !p.IsValid() {
		return problem.Position{}
	}
	q := p.Position()
	return problem.Position{File: q.Filename, Line: q.Line, Column: q.Column}
}
