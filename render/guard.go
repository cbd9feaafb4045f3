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

// GuardWith is like [Guard], and runs the function with a Renderer of the caller, which keeps
// its CUE contexts for the next call. After an error, the Renderer must not be used again.
func GuardWith[T any](ctx context.Context, r *Renderer, limits Limits, subject Subject, run func(*Renderer) (T, error)) (T, error) {
	type result struct {
		out T
		err error
	}
	var none T
	t := newTask(Job[result]{Subject: subject, Run: func(r *Renderer) result {
		out, err := run(r)
		return result{out, err}
	}})
	w := newWatchdog(limits)
	defer w.stop()
	w.boundGarbage(w.sample[heapLive].Value.Uint64()) // the evaluation may end before the first check
	go t.run(r)
	if err := w.await(ctx, &t.progress); err != nil {
		return none, err
	}
	if err := t.failure(); err != nil {
		return none, err
	}
	return t.result.out, t.result.err
}
