package render

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// how often limits are looked at.
const watchInterval = 10 * time.Millisecond

// maxStacks bounds the stacks of all evaluations, in bytes. None that ends needs
// nearly as much; over the runtime's own bound, a few times this, the process ends
// with a trace that no user can read.
const maxStacks = 200 << 20

// patience is for how many looks in a row stacks may be over their bound: another
// evaluation than the one that is waited for may be what recurses.
const patience = 5

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
	excess  int   // how often in a row stacks were over their bound
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
	}
	// Ours comes first. The runtime keeps a ceiling over any.
	w.stack = debug.SetMaxStack(math.MaxInt)
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
	}
	debug.SetMaxStack(w.stack)
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
func (w *watch) check(of Subject, started int64) error {
	if w.limits.Timeout > 0 && started > 0 {
		if time.Since(time.Unix(0, started)) > w.limits.Timeout {
			return w.giveUp(of, fmt.Sprintf("evaluation took longer than %v", w.limits.Timeout))
		}
	}
	metrics.Read(w.sample)
	w.collect(w.sample[2].Value.Uint64())
	objects, stacks := w.sample[0].Value.Uint64(), w.sample[1].Value.Uint64()
	if stacks > maxStacks {
		if w.excess++; w.excess > patience {
			return w.giveUp(of, recursedReason(of))
		}
		return nil
	}
	w.excess = 0
	if w.limits.Memory > 0 && objects+stacks > w.limits.Memory {
		return w.giveUp(of, fmt.Sprintf("evaluation used more than %d MiB", w.limits.Memory>>20))
	}
	return nil
}

func (w *watch) giveUp(of Subject, reason string) error {
	w.gaveUp = true
	return &LimitError{of.Name, reason}
}

// recursedReason names the place where CUE is known to recurse without end, if
// there is one.
func recursedReason(of Subject) string {
	const reason = "evaluation recursed too deeply"
	if of.Files == nil {
		return reason
	}
	if at, ok := endlessIn(of.Files()); ok {
		return fmt.Sprintf("%s, as CUE does without end %s: %v", reason, at.form, at.pos)
	}
	return reason
}
