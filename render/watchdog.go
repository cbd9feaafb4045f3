package render

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// watchInterval is how often the watchdog checks limits.
const watchInterval = 10 * time.Millisecond

// maxStacks bounds the stacks of all goroutines, in bytes. No evaluation that
// ends needs nearly as much. The Go runtime's own bound is a few times this;
// when a stack reaches it, the process dies with a trace that no user can
// read.
const maxStacks = 200 << 20

// maxOverStack is the number of checks in a row for which the stacks may
// exceed maxStacks. Another evaluation than the one that is waited for may be
// recursing, and gets its turn if this one ends soon.
const maxOverStack = 5

// maxGarbage and maxFirstGarbage bound the garbage on the heap, in bytes. A percentage
// alone lets garbage grow with the live heap, and so with the length of a run. The bound
// is lower until the first evaluation ends: a command that evaluates one platform saves
// that much memory for one or two collections more. In a long run they would cost a sixth
// of the time.
const (
	maxGarbage      = 96 << 20
	maxFirstGarbage = 24 << 20
)

// watchdog checks the time and memory of evaluations, and tunes the garbage
// collector meanwhile. There is one for each call of Each, and it changes
// settings of the whole process until stop.
//
// CUE can't be interrupted and Go can't end a goroutine, so the watchdog only finds
// out that an evaluation exceeds its limits. The program then prints the error and
// exits, and the evaluation ends with the process.
type watchdog struct {
	limits Limits
	tick   *time.Ticker
	sample []metrics.Sample

	// Settings of the process before, for stop. memoryLimit is -1 if unchanged.
	memoryLimit int64
	maxStack    int
	gcPercent   int

	gcPercentNow int
	done         int  // evaluations that ended, for the message
	overStack    int  // checks in a row that found too large stacks
	gaveUp       bool // an evaluation over its limits is still running
}

// The indexes of the metrics in watchdog.sample.
const (
	heapObjects = iota
	heapStacks
	heapLive
	gcPercentMetric
)

// newWatchdog starts a watchdog. The caller must call stop.
func newWatchdog(limits Limits) *watchdog {
	w := &watchdog{limits: limits, tick: time.NewTicker(watchInterval), memoryLimit: -1}
	w.sample = []metrics.Sample{
		heapObjects:     {Name: "/memory/classes/heap/objects:bytes"},
		heapStacks:      {Name: "/memory/classes/heap/stacks:bytes"},
		heapLive:        {Name: "/gc/heap/live:bytes"},
		gcPercentMetric: {Name: "/gc/gogc:percent"},
	}
	if limits.Memory > 0 {
		// Below the bound, so that garbage alone never reaches the bound.
		w.memoryLimit = debug.SetMemoryLimit(int64(limits.Memory / 4 * 3))
	}
	// The watchdog's bound comes first. The runtime still has a ceiling of its
	// own.
	w.maxStack = debug.SetMaxStack(math.MaxInt)
	metrics.Read(w.sample)
	w.gcPercent = int(w.sample[gcPercentMetric].Value.Uint64())
	w.gcPercentNow = w.gcPercent
	return w
}

// stop restores the settings of the process. If an evaluation was given up, it
// still runs, and with the usual bound its stack would kill the process before
// the program has printed its error; so the settings stay.
func (w *watchdog) stop() {
	w.tick.Stop()
	if w.gaveUp {
		return
	}
	if w.memoryLimit >= 0 {
		debug.SetMemoryLimit(w.memoryLimit)
	}
	debug.SetMaxStack(w.maxStack)
	if w.gcPercentNow != w.gcPercent {
		debug.SetGCPercent(w.gcPercent)
	}
}

// boundGarbage lowers the collector's percentage as the live heap grows, which
// is given in bytes, so that garbage stays under its bound.
func (w *watchdog) boundGarbage(live uint64) {
	if live == 0 || w.gcPercent <= 0 {
		return
	}
	garbage := uint64(maxGarbage)
	if w.done == 0 {
		garbage = maxFirstGarbage
	}
	percent := min(w.gcPercent, max(20, int(garbage*100/live)))
	if percent/10 != w.gcPercentNow/10 {
		debug.SetGCPercent(percent)
		w.gcPercentNow = percent
	}
}

// progress is the state of an evaluation. Whoever runs it writes panicked before done is
// closed.
type progress struct {
	subject  Subject
	panicked any
	started  atomic.Pointer[stopwatch] // nil before
	done     chan struct{}
}

// failure returns an error if the evaluation panicked. It must be done.
func (p *progress) failure() error {
	if p.panicked == nil {
		return nil
	}
	return &LimitError{p.subject.Name, fmt.Sprintf("evaluation panicked: %v", p.panicked)}
}

// await waits until an evaluation is done. It returns an error if the evaluation exceeds its
// limits, or if ctx ends before. The evaluation goes on then.
func (w *watchdog) await(ctx context.Context, t *progress) error {
	w.overStack = 0
	for {
		select {
		case <-t.done:
			return nil
		case <-ctx.Done():
			w.gaveUp = true
			return context.Cause(ctx)
		case <-w.tick.C:
			if err := w.check(t.subject, t.started.Load()); err != nil {
				return err
			}
		}
	}
}

// check returns a [LimitError] if the evaluation that Each waits for exceeds
// its limits. started has its start, or is nil. Evaluations behind it are
// checked when Each waits for them.
func (w *watchdog) check(subject Subject, started *stopwatch) error {
	if started != nil {
		if bound := started.exceeds(w.limits); bound != "" {
			return w.giveUp(subject, "evaluation took longer than "+bound)
		}
	}
	metrics.Read(w.sample)
	w.boundGarbage(w.sample[heapLive].Value.Uint64())
	objects, stacks := w.sample[heapObjects].Value.Uint64(), w.sample[heapStacks].Value.Uint64()
	if stacks > maxStacks {
		if w.overStack++; w.overStack > maxOverStack {
			return w.giveUp(subject, recursionReason(subject))
		}
		return nil
	}
	w.overStack = 0
	if w.limits.Memory > 0 && objects+stacks > w.limits.Memory {
		after := ""
		if w.done > 0 {
			after = fmt.Sprintf(" after %d others", w.done)
		}
		return w.giveUp(subject, fmt.Sprintf("evaluation used more than %d MiB%s; --eval-memory sets the limit", w.limits.Memory>>20, after))
	}
	return nil
}

// giveUp returns the error for an evaluation that goes on in the background.
func (w *watchdog) giveUp(subject Subject, reason string) error {
	w.gaveUp = true
	return &LimitError{subject.Name, reason}
}

// recursionReason names the position at which CUE is known to recurse without
// end, if the subject's files have one.
func recursionReason(subject Subject) string {
	const reason = "evaluation recursed too deeply"
	if subject.Files == nil {
		return reason
	}
	if found, ok := findRecursion(subject.Files()); ok {
		return fmt.Sprintf("%s, as CUE does without end %s: %v", reason, found.form, found.pos)
	}
	return reason
}
