package render

import (
	"context"
	"iter"
	"runtime"
)

// Job is one evaluation. Run is called with the Renderer of one worker.
type Job[T any] struct {
	Subject Subject
	Run     func(*Renderer) T
}

// Each runs jobs on all processors and yields their results in the order of the
// jobs. Each worker has a Renderer of its own with the given options. Each stops
// at the first [LimitError], which it yields, at the end of ctx, and when the
// consumer stops.
//
// Results that wait for an earlier one are bounded to eight for each processor,
// so that memory does not grow with the number of jobs.
//
// CUE can't be interrupted. When Each stops early, jobs that are running go on in
// their goroutines; the caller is expected to end the process soon.
func Each[T any](ctx context.Context, opts Options, limits Limits, jobs iter.Seq[Job[T]]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		workers := runtime.GOMAXPROCS(0)
		todo := make(chan *task[T], workers)
		order := make(chan *task[T], 8*workers) // started tasks whose results are not yielded yet
		stop := make(chan struct{})
		defer close(stop)
		// The producer enters a job in order before it hands it to a worker, so that
		// results are yielded in the order of the jobs, and blocks while order is full.
		go func() {
			defer close(order)
			defer close(todo)
			for job := range jobs {
				t := newTask(job)
				select {
				case order <- t:
				case <-stop:
					return
				}
				select {
				case todo <- t:
				case <-stop:
					return
				}
			}
		}()
		// A worker keeps its Renderer, and so its CUE contexts, for many jobs. It ends
		// when the producer closes todo, or with the process if its job never ends.
		for range workers {
			go func() {
				r := &Renderer{Options: opts}
				for t := range todo {
					t.run(r)
				}
			}()
		}
		w := newWatchdog(limits)
		defer w.stop()
		// The watchdog checks only the first task that is not yielded. The tasks behind
		// it may exceed their time as well; they are checked once they are first.
		for t := range order {
			if err := w.await(ctx, &t.progress); err != nil {
				yield(none, err)
				return
			}
			if err := t.failure(); err != nil {
				yield(none, err)
				return
			}
			w.done++
			if !yield(t.result, nil) {
				return
			}
		}
	}
}

// task is a job on its way through the pool. A worker writes result and
// panicked before it closes done.
type task[T any] struct {
	job    Job[T]
	result T
	progress
}

// newTask returns a task that has not started.
func newTask[T any](job Job[T]) *task[T] {
	return &task[T]{job: job, progress: progress{subject: job.Subject, done: make(chan struct{})}}
}

// run recovers a panic of CUE, which a module can provoke, so that the user
// gets an error and no stack trace. The renderer drops its contexts then.
func (t *task[T]) run(r *Renderer) {
	defer close(t.done)
	defer func() {
		if p := recover(); p != nil {
			t.panicked = p
			r.built = nil
		}
	}()
	watch := newStopwatch()
	t.started.Store(&watch)
	t.result = t.job.Run(r)
}

// Map calls run for each item on all processors, under limits, and returns the
// results in the order of the items. It stops at the first error.
func Map[In, Out any](ctx context.Context, limits Limits, items []In, subject func(In) Subject, run func(In) (Out, error)) ([]Out, error) {
	return MapWith(ctx, Options{}, limits, items, subject, func(_ *Renderer, item In) (Out, error) { return run(item) })
}

// MapWith is like [Map], and calls run with the Renderer of one worker, which has the
// given options.
func MapWith[In, Out any](ctx context.Context, opts Options, limits Limits, items []In, subject func(In) Subject, run func(*Renderer, In) (Out, error)) ([]Out, error) {
	type result struct {
		out Out
		err error
	}
	jobs := func(yield func(Job[result]) bool) {
		for _, item := range items {
			job := Job[result]{Subject: subject(item), Run: func(r *Renderer) result {
				out, err := run(r, item)
				return result{out, err}
			}}
			if !yield(job) {
				return
			}
		}
	}
	all := make([]Out, 0, len(items))
	for r, err := range Each(ctx, opts, limits, jobs) {
		if err == nil {
			err = r.err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r.out)
	}
	return all, nil
}
