// Package diagnose turns a failed CUE evaluation of an instance into problems:
// every mistake once, in one line, at the line of the instance that has it.
//
// CUE's own errors do not do that. A conflict hides the missing and unknown
// fields around it, and a failed disjunction reports the errors of every
// branch. So [Instance] walks data and schema together, and evaluates parts of
// the instance again and again: each value among those of its siblings that
// are valid. If the walk finds nothing or does not finish, it reports CUE's
// errors.
//
// [Normalize] comes before: it changes an instance as the API server would, so
// that a file renders like the stored object.
//
// The files of the package:
//
//   - walk.go visits values; struct.go, list.go and incomplete.go visit what is in
//     them, and union.go finds the branch of a disjunction that was meant;
//   - unknownfield.go, missingfield.go, wrongtype.go, enum.go, scalar.go and
//     constraint.go each report one kind of mistake, compare.go finds the field that
//     a bound refers to, and cueerrors.go reports the errors of CUE itself;
//   - dependency.go knows which fields of a module depend on others, so that one
//     mistake is not reported twice;
//   - trial.go evaluates the instance with other values, within a budget;
//   - schema.go and data.go answer questions about schemas and data, and
//     message.go words the messages.
//
// The package reads no files and does not know Kubernetes. It diagnoses
// instances only; package internal/source/cueerror reports errors in modules.
package diagnose

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
)

// Result is the outcome of a diagnosis.
type Result struct {
	// Problems has at least one problem.
	Problems problem.List
	// OverBudget reports that the walk took too many evaluations. Problems then
	// come from CUE's errors.
	OverBudget bool
	// Panic is the value that CUE panicked with during the walk, or nil. After
	// a panic the CUE context must not be used again.
	Panic any
}

// Instance diagnoses data, an instance's metadata and spec, that a module does
// not accept. root is the evaluated module and err CUE's error. Instance walks
// the data with one Eval after the other and returns the problems of the first
// walk that finds any.
//
// Problems of values that CUE can't decide count only if a walk finds no others.
// A walk that is over its budget or panics ends the search, since the next one
// would most likely do the same; CUE's own errors are reported then.
func Instance(root cue.Value, data *ast.StructLit, err error, evals ...Eval) Result {
	var res Result
	for _, eval := range evals {
		d := &diagnosis{root: root, data: data, eval: eval}
		res.OverBudget, res.Panic = d.walk()
		if res.OverBudget || res.Panic != nil {
			break
		}
		if len(d.problems) == 0 {
			d.problems = d.unsettled
		}
		if len(d.problems) > 0 {
			res.Problems = d.problems.Sorted()
			return res
		}
	}
	d := &diagnosis{root: root, data: data}
	d.addCUEErrors(cueerror.List(err))
	res.Problems = d.problems.Sorted()
	return res
}
