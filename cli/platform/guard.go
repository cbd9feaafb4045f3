package platform

import (
	"context"

	"github.com/pequod-io/pequod/render"
)

// guard runs one function under the limits of evaluation.
func Guard[T any](ctx context.Context, limits render.Limits, subject render.Subject, run func() (T, error)) (T, error) {
	all, err := render.Map(ctx, limits, []render.Subject{subject}, func(s render.Subject) render.Subject { return s }, func(render.Subject) (T, error) { return run() })
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}
