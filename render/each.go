package render

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
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

// how often limits are looked at.
const watchInterval = 10 * time.Millisecond

// Job is one evaluation: what it is called, and what to do with a worker's own
// Renderer.
type Job[T any] struct {
	Subject string
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
				yield(none, &LimitError{t.job.Subject, fmt.Sprintf("evaluation panicked: %v", t.panicked)})
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
func Map[In, Out any](ctx context.Context, limits Limits, items []In, subject func(In) string, run func(In) (Out, error)) ([]Out, error) {
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

// maxGarbage is how much garbage may pile up before it is collected, in bytes:
// the share that a collector's percentage allows grows with what lives, and so
// would the memory of a long run.
const maxGarbage = 64 << 20

// watch looks at the clock and the heap.
type watch struct {
	limits  Limits
	tick    *time.Ticker
	sample  []metrics.Sample
	limit   int64 // the process's own memory limit, to be put back
	stack   int   // its bound on stacks, likewise
	percent int   // the collector's percentage, likewise
	now     int   // the percentage in force
	gaveUp  bool  // an evaluation over its limit still runs
}

func newWatch(limits Limits) *watch {
	w := &watch{limits: limits, tick: time.NewTicker(watchInterval), limit: -1}
	w.sample = []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/gogc:percent"},
	}
	if limits.Memory > 0 {
		// The collector works harder before the bound, so that garbage alone
		// never reaches it.
		w.limit = debug.SetMemoryLimit(int64(limits.Memory / 4 * 3))
		// A stack over its own bound ends the process with a trace that no user
		// can read. The bound on memory, which counts stacks, comes first.
		w.stack = debug.SetMaxStack(int(min(4*limits.Memory, math.MaxInt)))
	}
	metrics.Read(w.sample)
	w.percent = int(w.sample[3].Value.Uint64())
	w.now = w.percent
	return w
}

// stop puts back what was set, unless an evaluation was given up: that one goes
// on, and with the usual bound its stack would end the process before the
// program has said why it stops.
func (w *watch) stop() {
	w.tick.Stop()
	if w.gaveUp {
		return
	}
	if w.limit >= 0 {
		debug.SetMemoryLimit(w.limit)
		debug.SetMaxStack(w.stack)
	}
	if w.now != w.percent {
		debug.SetGCPercent(w.percent)
	}
}

// collect keeps garbage under maxGarbage.
func (w *watch) collect(live uint64) {
	if live == 0 || w.percent <= 0 {
		return
	}
	percent := min(w.percent, max(20, int(maxGarbage*100/live)))
	if percent/10 != w.now/10 {
		debug.SetGCPercent(percent)
		w.now = percent
	}
}

// check judges the evaluation that is waited for; those behind it have their
// turn.
func (w *watch) check(subject string, started int64) error {
	if w.limits.Timeout > 0 && started > 0 {
		if time.Since(time.Unix(0, started)) > w.limits.Timeout {
			w.gaveUp = true
			return &LimitError{subject, fmt.Sprintf("evaluation took longer than %v", w.limits.Timeout)}
		}
	}
	metrics.Read(w.sample)
	w.collect(w.sample[2].Value.Uint64())
	if used := w.sample[0].Value.Uint64() + w.sample[1].Value.Uint64(); w.limits.Memory > 0 && used > w.limits.Memory {
		w.gaveUp = true
		return &LimitError{subject, fmt.Sprintf("evaluation used more than %d MiB", w.limits.Memory>>20)}
	}
	return nil
}
