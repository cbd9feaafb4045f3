package worker

import (
	"slices"
	"time"

	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// platform is a platform that was loaded. The mutex of the pool guards its fields.
type platform struct {
	key Key
	// calls wait for their evaluation: the urgent ones first, both in the order of their arrival.
	calls []*call
	// lanes has one element, or two while the queue is long.
	lanes []*lane
	// used is when the last call arrived.
	used time.Time
	// failures is the number of failures in a row. The next evaluation must not begin before
	// retryAt.
	failures int
	retryAt  time.Time
	// gone is the error of calls if the pool does not have the platform any more.
	gone error
}

// lane is where a platform evaluates one call at a time.
type lane struct {
	// busy is true while a goroutine evaluates a call. The process is its own then, but for kill.
	busy bool
	slot slot
	// process is nil if there is none. It may have ended.
	process *process
	// loaded is true if the process has loaded the platform.
	loaded bool
	// long is true if the evaluation takes long.
	long bool
	// starting is true if the lane has the room for a process that does not exist yet.
	starting bool
	// idle ends the process after a while. It is nil while there is none, or busy.
	idle *time.Timer
	// idleSince is when the last evaluation ended.
	idleSince time.Time
	// worked is the time of the evaluations of the process, without a pause between them.
	worked time.Duration
	// memory is the private memory of the process at its last measurement, in bytes.
	memory uint64
}

const (
	// quantum is how long a platform keeps a process that others wait for. To start one takes as long as
	// ten to twenty evaluations.
	quantum = 500 * time.Millisecond
	// pause is the time without a call after which a process may be taken for another platform.
	pause = 100 * time.Millisecond
)

// free returns a lane without an evaluation, preferably one with a process, or nil.
func (p *platform) free() *lane {
	for _, l := range p.lanes {
		if !l.busy && l.process != nil {
			return l
		}
	}
	if p.lanes[0].busy {
		return nil
	}
	return p.lanes[0]
}

// busy reports whether a call is evaluated.
func (p *platform) busy() bool {
	return slices.ContainsFunc(p.lanes, func(l *lane) bool { return l.busy })
}

// mayGrow reports whether the platform may have a second lane: there were more calls for a quantum than one process
// evaluates, or the evaluation takes long.
func (p *platform) mayGrow() bool {
	return (p.lanes[0].worked >= quantum || p.lanes[0].long) && !slices.ContainsFunc(p.lanes[1:], func(l *lane) bool { return l.busy || l.process != nil })
}

// name is the name of the platform in messages and metrics.
func (k Key) name() string { return k.Transform.String() }

// call is a request that waits for its answer.
type call struct {
	request protocol.Request
	limit   time.Duration
	// urgent is true if a request of the API server waits for the answer.
	urgent bool
	// begun is when a process got the request, or zero.
	begun time.Time
	// done gets the outcome. It has room for it, since the caller may be gone.
	done chan outcome
}

// push adds a call that waits.
func (p *platform) push(c *call) {
	i := len(p.calls)
	if c.urgent {
		i = slices.IndexFunc(p.calls, func(w *call) bool { return !w.urgent })
		if i < 0 {
			i = len(p.calls)
		}
	}
	p.calls = slices.Insert(p.calls, i, c)
}

// outcome is the outcome of a call.
type outcome struct {
	answer *protocol.Answer
	err    error
}

// slot is what an evaluation uses.
type slot int

const (
	noSlot slot = iota
	ordinarySlot
	suspectSlot
)
