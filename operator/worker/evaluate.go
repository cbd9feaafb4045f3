package worker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// longEvaluation is the time after which an evaluation does not keep others waiting, of the same platform
// neither: the operating system shares the processors between both.
const longEvaluation = time.Second

// dispatch begins the evaluations that may begin. p.mu is held.
func (p *Pool) dispatch() {
	if p.closed {
		return
	}
	for p.fits() {
		pl, l := p.queue.next(time.Now(), p.laneOf)
		if pl == nil {
			break
		}
		p.begin(pl, l)
	}
	// After a pause, a platform that waits may get the process of another one.
	if p.queue.slots > 0 && !p.awaits && slices.ContainsFunc(p.queue.waiting, func(pl *platform) bool { return pl.failures == 0 }) {
		p.awaits = true
		p.dispatchAfter(pause)
	}
}

// dispatchAfter calls dispatch after a while.
func (p *Pool) dispatchAfter(wait time.Duration) {
	time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.awaits = false
		p.dispatch()
	})
}

// laneOf returns the lane in which a platform can evaluate a call, or nil. p.mu is held.
func (p *Pool) laneOf(pl *platform) *lane {
	l := pl.free()
	switch {
	case l == nil && pl.mayGrow() && p.room():
		l = &lane{}
		pl.lanes = append(pl.lanes[:1], l)
	case l != nil && l.process == nil && !p.room() && p.taken(pl.calls[0].urgent) == nil:
		return nil
	}
	return l
}

// evaluations returns the number of evaluations for which there is memory. p.mu is held.
func (p *Pool) evaluations() uint64 {
	n := uint64(p.options.Evaluations)
	if p.options.Budget > 0 {
		n = max(1, min(n, p.options.Budget/p.options.Memory))
	}
	return n
}

// newProcess is the memory of a process that has loaded a small module, in bytes.
const newProcess = 16 << 20

// room reports whether there may be another process, beside as many evaluations as there may be. p.mu is held.
func (p *Pool) room() bool {
	switch n := p.evaluations(); {
	case p.processes >= p.options.Processes:
		return false
	case p.options.Budget == 0 || uint64(p.processes) < n:
		return true
	default:
		p.measure()
		used := n*p.options.Memory + newProcess
		for _, pl := range p.platforms {
			for _, l := range pl.lanes {
				used += l.memory
			}
		}
		return used <= p.options.Budget
	}
}

// fits reports whether another evaluation may begin if processes without one end. p.mu is held.
func (p *Pool) fits() bool {
	busy := uint64(0)
	for _, pl := range p.platforms {
		for _, l := range pl.lanes {
			if l.busy {
				busy++
			}
		}
	}
	return p.options.Budget == 0 || busy == 0 || (busy+1)*p.options.Memory <= p.options.Budget
}

// makeRoom ends processes without an evaluation until there is room for all evaluations. p.mu is
// held.
func (p *Pool) makeRoom() {
	for measured := false; p.options.Budget > 0; measured = true {
		used := uint64(0)
		for _, pl := range p.platforms {
			for _, l := range pl.lanes {
				if l.busy {
					used += p.options.Memory
				} else {
					used += l.memory
				}
			}
		}
		idle := p.taken(true)
		switch {
		case used <= p.options.Budget || idle == nil:
			return
		case measured:
			p.endProcess(idle)
		default:
			p.measure()
		}
	}
}

// measure reads the memory of processes without an evaluation, which give it back after some seconds. p.mu is held.
func (p *Pool) measure() {
	for _, pl := range p.platforms {
		for _, l := range pl.lanes {
			if l.process != nil && !l.busy {
				l.memory = l.process.private()
			}
		}
	}
}

// taken returns the lane whose process has been without an evaluation for the longest time, or nil. A platform keeps
// its processes for a quantum, or until a pause, unless they are needed urgently. p.mu is held.
func (p *Pool) taken(urgently bool) *lane {
	var found *lane
	now := time.Now()
	for _, pl := range p.platforms {
		for _, l := range pl.lanes {
			if l.process != nil && !l.busy && (found == nil || l.idleSince.Before(found.idleSince)) &&
				(urgently || l.worked >= quantum || len(pl.calls) == 0 && now.Sub(l.idleSince) >= pause) {
				found = l
			}
		}
	}
	return found
}

// begin begins the first call of a platform in a lane that has a slot. p.mu is held.
func (p *Pool) begin(pl *platform, l *lane) {
	c := pl.calls[0]
	pl.calls = pl.calls[1:]
	l.busy = true
	if l.idle != nil {
		l.idle.Stop()
	}
	if time.Since(l.idleSince) >= pause {
		l.worked = 0
	}
	if l.process == nil {
		// The memory of the others may have changed since laneOf, which had room or a process to end.
		if other := p.taken(c.urgent); other != nil && !p.room() {
			p.endProcess(other)
		}
		p.countProcesses(1)
		l.starting = true
	}
	p.makeRoom()
	p.queue.add(pl)
	p.running.Go(func() {
		long := time.AfterFunc(longEvaluation, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if l.slot == ordinarySlot {
				l.long = true
				p.queue.release(l)
				p.queue.add(pl)
				p.dispatch()
			}
		})
		answer, err := p.evaluate(pl, l, c)
		long.Stop()
		c.done <- outcome{answer, p.finish(pl, l, c, answer, err)}
	})
}

// evaluate has a call answered by the process of a lane, which it starts if there is none.
func (p *Pool) evaluate(pl *platform, l *lane, c *call) (*protocol.Answer, error) {
	process, err := p.processOf(pl, l)
	if err != nil {
		return nil, err
	}
	c.begun = time.Now()
	answer, err := process.exchange(c.request, nil, c.limit)
	return answer, p.explain(pl, process, answer, err, c.limit)
}

// processOf returns the process of a busy lane, with the platform loaded.
func (p *Pool) processOf(pl *platform, l *lane) (*process, error) {
	p.mu.Lock()
	old := l.process
	l.loaded = old != nil && old.alive()
	loaded := l.loaded
	p.mu.Unlock()
	if loaded {
		return old, nil
	}
	if old != nil {
		old.end() // closes its pipes
	}
	started, err := startProcess(p.options.Command, p.options.Memory, p.spawn, p.options.Log.WithValues("transform", pl.key.name()))
	if err != nil {
		return nil, fmt.Errorf("platform %s: starting its evaluation process: %w", pl.key.name(), err)
	}
	p.mu.Lock()
	l.process, l.starting = started, false
	if pl.gone != nil {
		started.kill()
	}
	p.mu.Unlock()
	var unread error
	answer, err := started.exchange(protocol.Request{Load: &protocol.Load{
		Digest: pl.key.Digest, Timeout: p.options.Timeout, Clock: p.options.Clock, Memory: p.options.Memory,
		AllowSecrets: p.options.AllowSecrets,
	}}, func(to io.Writer) error {
		unread = p.store.copySources(pl.key.Digest, to)
		return unread
	}, p.options.Clock+p.options.Grace)
	if errors.Is(unread, fs.ErrNotExist) {
		return nil, ErrNotLoaded
	}
	if err := p.explain(pl, started, answer, err, p.options.Clock+p.options.Grace); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l.loaded = true
	p.mu.Unlock()
	return started, nil
}

// spawn calls a function on the thread that starts processes.
func (p *Pool) spawn(start func() error) error {
	done := make(chan error)
	p.threads <- func() { done <- start() }
	return <-done
}

// explain returns the error of an exchange, or that of its answer.
func (p *Pool) explain(pl *platform, process *process, answer *protocol.Answer, err error, limit time.Duration) error {
	var tooLarge *requestError
	switch {
	case errors.Is(err, errLate):
		return &LimitError{pl.key.name(), LimitTime, fmt.Sprintf("no answer after %v", limit)}
	case errors.As(err, &tooLarge):
		return tooLarge
	case err != nil:
		return &failedError{fmt.Errorf("platform %s: %w", pl.key.name(), process.explain(err))}
	case answer.Failure == nil:
		return nil
	}
	switch f := answer.Failure; {
	case f.Limit != "":
		return &LimitError{pl.key.name(), limitOf(f.Limit), f.Limit}
	case len(f.Problems) > 0:
		return f.Problems
	case f.Corrupt:
		p.store.remove(pl.key.Digest)
		return ErrNotLoaded
	default:
		return fmt.Errorf("platform %s: %s", pl.key.name(), f.Error)
	}
}

// failedError is an error of a process and not of what it evaluates.
type failedError struct{ error }

// Unwrap returns the error.
func (e *failedError) Unwrap() error { return e.error }

// limitOf returns the kind of limit that a reason of package render is about.
func limitOf(reason string) Limit {
	for _, l := range []struct {
		part  string
		limit Limit
	}{{"took longer", LimitTime}, {"recursed", LimitDepth}, {"panicked", LimitPanic}} {
		if strings.Contains(reason, l.part) {
			return l.limit
		}
	}
	return LimitMemory
}

// finish ends the turn of a platform and returns the error for the caller. After a failure, or
// if the platform could not be loaded, its process ends, too.
func (p *Pool) finish(pl *platform, l *lane, c *call, answer *protocol.Answer, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.release(l)
	l.busy, l.long = false, false
	l.idleSince = time.Now()
	if !c.begun.IsZero() {
		l.worked += l.idleSince.Sub(c.begun)
	}
	if c.request.Render != nil && !c.request.Render.CheckOnly && !c.begun.IsZero() && pl.gone == nil {
		p.options.Metrics.Rendered(pl.key.name(), time.Since(c.begun), errorType(answer, err))
	}
	switch {
	case pl.gone != nil:
		p.drop(l)
		if err != nil { // of the process that was killed
			err = pl.gone
		}
	case failed(err):
		p.drop(l)
		wait := min(p.options.Backoff<<min(pl.failures, 10), maxBackoff)
		pl.failures++
		pl.retryAt = l.idleSince.Add(wait)
		p.dispatchAfter(wait)
		p.options.Metrics.Failed(pl.key.name(), errorType(nil, err))
	case !l.loaded:
		p.drop(l)
	default:
		pl.failures = 0
		l.memory = l.process.private()
		p.endWhenIdle(l)
	}
	p.queue.add(pl)
	p.dispatch()
	return err
}

// failed reports whether an error is about a process that can't be used any more.
func failed(err error) bool {
	var limit *LimitError
	var failed *failedError
	return errors.As(err, &limit) || errors.As(err, &failed)
}

// drop ends the process of a lane, or gives back its room. p.mu is held.
func (p *Pool) drop(l *lane) {
	if l.starting {
		l.starting = false
		p.countProcesses(-1)
	}
	p.endProcess(l)
}

// endWhenIdle ends the process of a lane after a while. p.mu is held.
func (p *Pool) endWhenIdle(l *lane) {
	process := l.process
	l.idle = time.AfterFunc(p.options.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !l.busy && l.process == process && time.Since(l.idleSince) >= p.options.Idle {
			p.endProcess(l)
		}
	})
}

// errorType returns the value of the label error_type for the result of an evaluation: a
// [Limit], process, platform, or for an instance without a graph the rule of its first problem.
func errorType(answer *protocol.Answer, err error) string {
	var limit *LimitError
	var failed *failedError
	var problems problem.List
	switch {
	case errors.As(err, &limit):
		return string(limit.Limit)
	case errors.As(err, &failed):
		return "process"
	case errors.As(err, &problems):
		return "platform"
	case err != nil:
		return "other"
	}
	for _, q := range answer.Problems {
		if q.Severity == problem.Error {
			return cmp.Or(q.Rule, "other")
		}
	}
	return ""
}
