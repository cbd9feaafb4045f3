package render

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"time"

	"cuelang.org/go/cue/ast"
)

// Limits bound the evaluation of one instance. CUE can't be interrupted, so an
// evaluation over its limit goes on in the background: the process is meant to
// end after a [LimitError].
type Limits struct {
	// Timeout bounds the evaluation of one instance; 0 means no bound.
	Timeout time.Duration
	// Memory bounds heap and stacks of the whole process, in bytes; 0 means no bound.
	Memory uint64
}

// LimitError says that an evaluation had to be given up.
type LimitError struct {
	Subject string
	Reason  string
}

func (e *LimitError) Error() string { return e.Subject + ": " + e.Reason }

// Subject is what an evaluation is of: what it is called, and the files of the
// modules in it, for those who ask; nil where there are none.
type Subject struct {
	Name  string
	Files func() []*ast.File
}

// Named is a subject of which only the name is known.
func Named(name string) Subject { return Subject{Name: name} }

// Job is one evaluation: of what, and what to do with a worker's own Renderer.
type Job[T any] struct {
	Subject Subject
	Run     func(*Renderer) T
}

// Each runs jobs on all processors and yields their results in the order of the
// jobs, holding only as many as are under way. It stops at the first
// [LimitError], at the end of the context, and when the consumer has enough.
func Each[T any](ctx context.Context, opts Options, limits Limits, jobs iter.Seq[Job[T]]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		workers := runtime.GOMAXPROCS(0)
		todo := make(chan *task[T], workers)
		// What was begun and not yet yielded; its length bounds the memory.
		order := make(chan *task[T], 8*workers)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			defer close(order)
			defer close(todo)
			for job := range jobs {
				t := &task[T]{job: job, done: make(chan struct{})}
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
		for range workers {
			go func() {
				r := &Renderer{Options: opts}
				for t := range todo {
					t.run(r)
				}
			}()
		}
		w := newWatch(limits)
		defer w.stop()
		for t := range order {
			w.excess = 0
			for {
				select {
				case <-t.done:
				case <-ctx.Done():
					w.gaveUp = true
					yield(none, context.Cause(ctx))
					return
				case <-w.tick.C:
					if err := w.check(t.job.Subject, t.started.Load()); err != nil {
						yield(none, err)
						return
					}
					continue
				}
				break
			}
			if t.panicked != nil {
				yield(none, &LimitError{t.job.Subject.Name, fmt.Sprintf("evaluation panicked: %v", t.panicked)})
				return
			}
			if !yield(t.result, nil) {
				return
			}
		}
	}
}

type task[T any] struct {
	job      Job[T]
	result   T
	panicked any
	started  atomic.Int64
	done     chan struct{}
}

// run keeps a panic of the evaluator, which a hostile module may find, from
// ending in a stack trace.
func (t *task[T]) run(r *Renderer) {
	defer close(t.done)
	defer func() {
		if p := recover(); p != nil {
			t.panicked = p
			r.built = nil
		}
	}()
	t.started.Store(time.Now().UnixNano())
	t.result = t.job.Run(r)
}

// Map runs a function over items on all processors, under limits, and gives the
// results in the order of the items. It stops at the first error.
func Map[In, Out any](ctx context.Context, limits Limits, items []In, subject func(In) Subject, run func(In) (Out, error)) ([]Out, error) {
	type result struct {
		out Out
		err error
	}
	jobs := func(yield func(Job[result]) bool) {
		for _, item := range items {
			job := Job[result]{Subject: subject(item), Run: func(*Renderer) result {
				out, err := run(item)
				return result{out, err}
			}}
			if !yield(job) {
				return
			}
		}
	}
	all := make([]Out, 0, len(items))
	for r, err := range Each(ctx, Options{}, limits, jobs) {
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
