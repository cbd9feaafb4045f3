package resolve

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/reference"
)

// Outputs returns the outputs whose values are known, and by name the errors
// of the others: a *[WaitError] or an *[EvalError]. An output that an
// expression leaves out is in neither. Values of Secrets never come out: an
// output that reads one is an error.
func (r *Resolver) Outputs(live Lookup) (values map[string]any, errs map[string]error) {
	values, errs = make(map[string]any, len(r.outputs)), map[string]error{}
	for name, v := range r.outputs {
		values[name] = runtime.DeepCopyJSONValue(v)
	}
	for _, late := range slices.Backward(r.graph.Outputs) {
		name, _ := late.Path[0].(string)
		value, err := r.value(late, place{
			path: append(reference.Path{"outputs"}, late.Path...), refusal: "never go into outputs",
		}, live)
		if err != nil {
			errs[name] = worse(err, errs[name])
			continue
		}
		replace(values, late.Path, value)
	}
	for name := range errs {
		delete(values, name)
	}
	return values, errs
}

// worse is the error that says more of two of one output: that it can't be
// resolved, or else the newer one, which stands first as they come backwards.
func worse(newer, older error) error {
	var fails *EvalError
	if errors.As(older, &fails) && !errors.As(newer, &fails) {
		return older
	}
	return newer
}
