package worker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// longEvaluation is the time after which an evaluation does not keep others waiting: the
// operating system shares the processors between both.
const longEvaluation = time.Second

// dispatch begins the evaluations that may begin. p.mu is held.
func (p *Pool) dispatch() {
	if p.closed {
		return
	}
	for p.fits() {
		pl := p.queue.next(time.Now(), func(pl *platform) bool {
			return pl.process != nil || p.processes < p.options.Processes || p.idlest() != nil
		})
		if pl == nil {
			return
		}
		p.begin(pl)
	}
}

// fits reports whether another evaluation may begin if processes without one end. p.mu is held.
func (p *Pool) fits() bool {
	busy := uint64(0)
	for _, pl := range p.platforms {
		if pl.busy {
			busy++
		}
	}
	return p.options.Budget == 0 || busy == 0 || (busy+1)*p.options.Memory <= p.options.Budget
}

// makeRoom ends processes without an evaluation until there is room for all evaluations. p.mu is
// held.
func (p *Pool) makeRoom() {
	for p.options.Budget > 0 {
		used := uint64(0)
		for _, pl := range p.platforms {
			switch {
			case pl.busy:
				used += p.options.Memory
			case pl.process != nil:
				used += pl.process.resident()
			}
		}
		idle := p.idlest()
		if used <= p.options.Budget || idle == nil {
			return
		}
		p.endProcess(idle)
	}
}

// idlest returns the platform whose process has been idle for the longest time, or nil.
func (p *Pool) idlest() *platform {
	var found *platform
	for _, pl := range p.platforms {
		if pl.process != nil && !pl.busy && (found == nil || pl.idleSince.Before(found.idleSince)) {
			found = pl
		}
	}
	return found
}

// begin begins the first call of a platform, which has a slot. p.mu is held.
func (p *Pool) begin(pl *platform) {
	c := pl.calls[0]
	pl.calls = pl.calls[1:]
	pl.busy = true
	if pl.idle != nil {
		pl.idle.Stop()
	}
	if pl.process == nil {
		if p.processes >= p.options.Processes {
			p.endProcess(p.idlest())
		}
		p.countProcesses(1)
		pl.starting = true
	}
	p.makeRoom()
	p.running.Go(func() {
		long := time.AfterFunc(longEvaluation, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if pl.slot == ordinarySlot {
				p.queue.release(pl)
				p.dispatch()
			}
		})
		answer, err := p.evaluate(pl, c)
		long.Stop()
		c.done <- outcome{answer, p.finish(pl, c, answer, err)}
	})
}

// evaluate has a call answered by the process of a platform, which it starts if there is none.
func (p *Pool) evaluate(pl *platform, c *call) (*protocol.Answer, error) {
	process, err := p.processOf(pl)
	if err != nil {
		return nil, err
	}
	c.begun = time.Now()
	answer, err := process.exchange(c.request, nil, c.limit)
	return answer, p.explain(pl, process, answer, err, c.limit)
}

// processOf returns the process of a busy platform, with the platform loaded.
func (p *Pool) processOf(pl *platform) (*process, error) {
	p.mu.Lock()
	old := pl.process
	pl.loaded = old != nil && old.alive()
	loaded := pl.loaded
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
	pl.process, pl.starting = started, false
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
	pl.loaded = true
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
func (p *Pool) finish(pl *platform, c *call, answer *protocol.Answer, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.release(pl)
	pl.busy = false
	pl.idleSince = time.Now()
	if c.request.Render != nil && !c.request.Render.CheckOnly && !c.begun.IsZero() && pl.gone == nil {
		p.options.Metrics.Rendered(pl.key.name(), time.Since(c.begun), errorType(answer, err))
	}
	switch {
	case pl.gone != nil:
		p.drop(pl)
		if err != nil { // of the process that was killed
			err = pl.gone
		}
	case failed(err):
		p.drop(pl)
		wait := min(p.options.Backoff<<min(pl.failures, 10), maxBackoff)
		pl.failures++
		pl.retryAt = pl.idleSince.Add(wait)
		time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dispatch()
		})
		p.options.Metrics.Failed(pl.key.name(), errorType(nil, err))
	case !pl.loaded:
		p.drop(pl)
	default:
		pl.failures = 0
		p.endWhenIdle(pl)
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

// drop ends the process of a platform, or gives back its room. p.mu is held.
func (p *Pool) drop(pl *platform) {
	if pl.starting {
		pl.starting = false
		p.countProcesses(-1)
	}
	p.endProcess(pl)
}

// endWhenIdle ends the process of a platform after a while. p.mu is held.
func (p *Pool) endWhenIdle(pl *platform) {
	process := pl.process
	pl.idle = time.AfterFunc(p.options.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !pl.busy && pl.process == process && time.Since(pl.idleSince) >= p.options.Idle {
			p.endProcess(pl)
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
