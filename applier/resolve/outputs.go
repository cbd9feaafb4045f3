package resolve

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/reference"
)

// Outputs returns the outputs whose values are known and, by name, the errors of
// the others: each is a *[WaitError] or an *[EvalError]. An output that its
// expression leaves out is in neither map. An output that reads the value of a
// Secret is an error.
func (r *Resolver) Outputs(live Lookup) (values map[string]any, errs map[string]error) {
	values, errs = make(map[string]any, len(r.outputs)), map[string]error{}
	for name, v := range r.outputs {
		values[name] = runtime.DeepCopyJSONValue(v)
	}
	for _, late := range slices.Backward(r.graph.Outputs) {
		name, _ := late.Path[0].(string)
		// Outputs are evaluated at the end of an execution, when nothing remains to be
		// evaluated later. Their cost is limited by that of the graph.
		spent := r.BeginStep()
		value, err := r.evaluate(late, position{
			path: append(reference.Path{"outputs"}, late.Path...), refusal: "never go into outputs",
		}, live)
		r.budget.slice += spent
		if err != nil {
			errs[name] = moreSerious(err, errs[name])
			continue
		}
		replace(values, late.Path, ownCopy(value))
	}
	for name := range errs {
		delete(values, name)
	}
	return values, errs
}

// moreSerious returns the error to report for an output with two errors: an
// EvalError rather than a WaitError, and otherwise the earlier error, which stands
// first in the output because references are evaluated backward.
func moreSerious(earlier, later error) error {
	var eval *EvalError
	if errors.As(later, &eval) && !errors.As(earlier, &eval) {
		return later
	}
	return earlier
}
