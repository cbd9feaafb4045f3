package platform

import (
	"context"

	"github.com/pequod-io/pequod/render"
)

// Guard runs one function under the limits of evaluation and returns its result.
// subject names the evaluation in the error if it exceeds a limit. The function
// can't be stopped; if it exceeds a limit, it is abandoned and its result is
// lost. It may still be running then, so variables that it writes must not be
// read after an error.
func Guard[T any](ctx context.Context, limits render.Limits, subject render.Subject, run func() (T, error)) (T, error) {
	same := func(s render.Subject) render.Subject { return s }
	results, err := render.Map(ctx, limits, []render.Subject{subject}, same,
		func(render.Subject) (T, error) { return run() })
	if err != nil {
		var zero T
		return zero, err
	}
	return results[0], nil
}
