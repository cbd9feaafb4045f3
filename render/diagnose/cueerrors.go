package diagnose

import (
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// addCUEErrors reports CUE's own errors: one for each path, and one for a union,
// however many errors its branches have. An error below the path of a failed
// union is one of a branch, and is left out.
func (d *diagnosis) addCUEErrors(errs []cueerrors.Error) {
	key := func(path []string) string { return strings.Join(path, "\x00") }
	unions := map[string]bool{}
	for _, e := range errs {
		if format, _ := e.Msg(); strings.Contains(format, "empty disjunction") {
			unions[key(e.Path())] = true
		}
	}
	byPath := map[string][]cueerrors.Error{}
	for _, e := range errs {
		inUnion := false
		for i := range e.Path() {
			inUnion = inUnion || unions[key(e.Path()[:i])]
		}
		if !inUnion {
			byPath[d.pathOf(e)] = append(byPath[d.pathOf(e)], e)
		}
	}
	// The order of the map does not matter, since the result is sorted.
	for path, errs := range byPath {
		value := cuesyntax.ValueAt(d.data, fieldpath.Split(path))
		d.problems = append(d.problems, d.problemOf(cueerror.Causes(errs)[0], path, value, cue.Value{}))
	}
}
