package worker

import (
	"slices"
	"time"
)

// queue decides which platform evaluates next: platforms alternate, and the calls of one
// platform are in the order of their arrival. Urgent calls come first. It starts nothing, and its caller synchronizes
// its use.
//
// An evaluation has a slot. A platform that has failed last does not use one of the ordinary
// slots but one of its own, which all such platforms share, so that any number of them leaves
// the ordinary slots to the others. Nor does an evaluation that takes long keep its slot.
type queue struct {
	slots    int  // ordinary slots that are free
	suspects bool // the slot of platforms that have failed is free
	// waiting are the platforms with calls and with a lane for them, in the order of their turns.
	waiting []*platform
}

// add adds a platform at the end, unless it has no calls or no lane for another one. With an urgent call, the
// platform is put before those that have none. One that is in the queue keeps its place or
// gets a better one.
func (q *queue) add(p *platform) {
	if len(p.calls) == 0 || p.free() == nil && !p.mayGrow() {
		return
	}
	if p.calls[0].urgent {
		q.remove(p)
		i := slices.IndexFunc(q.waiting, func(w *platform) bool { return !w.calls[0].urgent })
		if i < 0 {
			i = len(q.waiting)
		}
		q.waiting = slices.Insert(q.waiting, i, p)
	} else if !slices.Contains(q.waiting, p) {
		q.waiting = append(q.waiting, p)
	}
}

// remove removes a platform.
func (q *queue) remove(p *platform) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *platform) bool { return w == p })
}

// next removes the next platform that may evaluate now, and takes a slot for it. in returns the lane in which the
// platform can evaluate, or nil. next returns nil if there is none.
func (q *queue) next(now time.Time, in func(*platform) *lane) (*platform, *lane) {
	for i, p := range q.waiting {
		if now.Before(p.retryAt) || p.failures > 0 && !q.suspects || p.failures == 0 && q.slots == 0 {
			continue
		}
		l := in(p)
		if l == nil {
			continue
		}
		if p.failures > 0 {
			l.slot, q.suspects = suspectSlot, false
		} else {
			l.slot = ordinarySlot
			q.slots--
		}
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return p, l
	}
	return nil, nil
}

// release gives the slot of a lane back. It may be called again.
func (q *queue) release(l *lane) {
	switch l.slot {
	case ordinarySlot:
		q.slots++
	case suspectSlot:
		q.suspects = true
	}
	l.slot = noSlot
}
