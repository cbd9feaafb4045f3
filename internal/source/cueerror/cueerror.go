// Package cueerror turns the errors of CUE about a module into problems: one line
// each, at a line that the module's author can correct.
//
// [Problems] is the entry point. [List], [Path], [Message] and [Causes] are for
// callers that report single errors in words of their own, such as package
// render/diagnose for mistakes in an instance.
//
// For example, CUE reports four errors for a value outside of an enumeration of
// three values, one as a summary and one for each value. Problems makes one of
// them:
//
//	spec.level: "hihg" is not one of "low", "mid", "high"
//
// cueerror.go has the entry points, and conflict.go reads errors about two values
// that exclude each other.
package cueerror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// ProblemsIn is like [Problems] and gives every problem a file: errors without
// a position get the reference by which the user named the module.
func ProblemsIn(ref string, err error) problem.List {
	ps := Problems(err)
	for i := range ps {
		if ps[i].Position.File == "" {
			ps[i].Position.File = ref
		}
	}
	return ps
}

// Problems returns one problem for each error that CUE reports in err, sorted
// and without duplicates.
func Problems(err error) problem.List {
	ps, rest := enumerations(List(err))
	for _, e := range rest {
		p := problem.Problem{Rule: problem.RuleModule, Path: Path(e), Message: Message(e)}
		if at := cueerrors.Positions(e); len(at) > 0 {
			p.Position = cuesyntax.Position(at[0])
		}
		if c, ok := conflictOf(e); ok {
			if at, ok := c.valuePosition(); ok {
				p.Position = at
			}
		}
		if isVendored(p.Position.File) {
			for _, at := range cueerrors.Positions(e) {
				if own := cuesyntax.Position(at); own.File != "" && !isVendored(own.File) {
					p.Position = own
					break
				}
			}
		}
		ps = append(ps, p)
	}
	return ps.Sorted()
}

// isVendored reports whether a file belongs to a package that the module's author
// copied or generated, or to a version of another module, and can't correct.
func isVendored(file string) bool {
	return strings.Contains("/"+file, "/cue.mod/") || otherModule().MatchString(file)
}

// otherModule matches names of files in versions of other modules, such as
// example.com/k8s@v1.2.0/apps/v1/types.cue.
var otherModule = lazyregexp.New(`^[^/]+\.[^@]+@v[0-9]+\.[0-9]+\.[0-9]+[^/]*/`)

// List returns the CUE errors in err, which may be joined from several errors. An
// error of another kind becomes one CUE error without a position.
func List(err error) []cueerrors.Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []cueerrors.Error
		for _, e := range joined.Unwrap() {
			all = append(all, List(e)...)
		}
		return all
	}
	return cueerrors.Errors(err)
}

// Path returns the path of the value that an error is about, as [problem.Problem]
// has it: spec.ports[0].name.
func Path(e cueerrors.Error) string {
	var path string
	for _, part := range e.Path() {
		if fieldpath.IsIndex(part) {
			path += "[" + part + "]"
			continue
		}
		path = fieldpath.Join(path, cuesyntax.UnquoteLabel(part))
	}
	return path
}

// Message returns CUE's message with its cause, on one line and without
// positions.
//
// CUE spreads long values over several lines and repeats the position in the
// cause. Both would break the rule of one line for each problem.
func Message(e cueerrors.Error) string {
	format, args := e.Msg()
	msg := fmt.Sprintf(format, args...)
	if cause := errors.Unwrap(e); cause != nil && !strings.Contains(msg, cause.Error()) {
		text := cause.Error()
		if at := cueerrors.Positions(e); len(at) > 0 {
			text = strings.TrimPrefix(text, at[0].String()+": ")
		}
		msg = strings.TrimPrefix(msg+": "+text, ": ")
	}
	return strings.Join(strings.Fields(msg), " ")
}

// Causes returns the errors that name a cause. It leaves out conflicts if there
// are other errors, because CUE reports conflicts as a consequence of them, and
// the summary that CUE puts before the errors of a disjunction's branches. It
// returns at least one error if errs has one.
func Causes(errs []cueerrors.Error) []cueerrors.Error {
	for _, consequence := range []string{"conflicting values", "empty disjunction"} {
		rest := slices.DeleteFunc(slices.Clone(errs), func(e cueerrors.Error) bool {
			format, _ := e.Msg()
			return strings.Contains(format, consequence)
		})
		if len(rest) > 0 {
			errs = rest
		}
	}
	return errs
}
