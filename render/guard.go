package render

import "context"

// Guard runs one function under the limits of evaluation and returns its result.
// subject names the evaluation in the error if it exceeds a limit. The function
// can't be stopped; if it exceeds a limit, it is abandoned and its result is
// lost. It may still be running then, so variables that it writes must not be
// read after an error.
func Guard[T any](ctx context.Context, limits Limits, subject Subject, run func() (T, error)) (T, error) {
	same := func(s Subject) Subject { return s }
	results, err := Map(ctx, limits, []Subject{subject}, same,
		func(Subject) (T, error) { return run() })
	if err != nil {
		var zero T
		return zero, err
	}
	return results[0], nil
}
