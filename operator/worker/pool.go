package worker

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// Pool has the processes of all platforms. Any number of goroutines may use it.
type Pool struct {
	options Options
	store   store
	threads chan func()

	mu        sync.Mutex // guards what follows, and the fields of platforms
	platforms map[Key]*platform
	queue     queue
	processes int  // the number of processes that exist or are about to start
	awaits    bool // dispatch will be called after a pause
	closed    bool
	running   sync.WaitGroup // evaluations, and processes that end
}

// New returns a pool without processes. The caller must close it.
func New(o Options) (*Pool, error) {
	o = o.withDefaults()
	if len(o.Command) == 0 {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding the program of evaluation processes: %w", err)
		}
		o.Command = []string{program, "worker"}
	}
	store, err := newStore(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the directory for sources of platforms: %w", err)
	}
	p := &Pool{
		options: o, store: store, threads: make(chan func()), platforms: map[Key]*platform{},
		queue: queue{slots: o.Evaluations, suspects: true},
	}
	keepInherited()
	go p.startOnOneThread()
	return p, nil
}

// startOnOneThread starts the processes. Linux kills them with the thread that started them,
// so it must not end before the pool is closed.
func (p *Pool) startOnOneThread() {
	runtime.LockOSThread() // and never unlocked, which ends the thread with the goroutine
	for start := range p.threads {
		start()
	}
}

// Add adds a platform that was loaded before, whose sources must have the digest of the key.
// Nothing is evaluated.
func (p *Pool) Add(key Key, sources []byte) error {
	if len(sources) > protocol.MaxSources {
		return fmt.Errorf("platform %s: its sources are too large: %d bytes", key.name(), len(sources))
	}
	if err := p.store.put(key.Digest, sources); err != nil {
		return fmt.Errorf("platform %s: storing its sources: %w", key.name(), err)
	}
	return p.add(key)
}

// Load loads a platform, whose sources must have the digest of the key, and describes it. It
// may be called again. The error is a [problem.List] if the module is wrong.
func (p *Pool) Load(ctx context.Context, key Key, sources []byte) (*Loaded, error) {
	if err := p.Add(key, sources); err != nil {
		return nil, err
	}
	answer, err := p.do(ctx, key, &call{request: protocol.Request{Describe: &protocol.Describe{}}, limit: p.options.Clock + p.options.Grace})
	if err != nil {
		return nil, err
	}
	d := answer.Description
	if d == nil || d.CRD == nil {
		return nil, fmt.Errorf("platform %s: an answer without a CRD", key.name())
	}
	return &Loaded{
		CRD: d.CRD, Names: d.Names, Module: Content{Digest: d.Digest, Version: d.Version}, Notes: d.Notes,
		StatusFields: d.StatusFields, IgnoresLabels: d.IgnoresLabels, IgnoresAnnotations: d.IgnoresAnnotations, Converts: d.Converts,
	}, nil
}

// samplesTime is the time for all samples of a platform, in limits of one evaluation. There are many.
const samplesTime = 6

// Sample returns graphs of instances of a platform that were made up, to compute roles from. The
// sources must have the digest of the key. An instance may render objects that no sample has. The error
// is a [*LimitError] if the samples exceed a limit.
func (p *Pool) Sample(ctx context.Context, key Key, sources []byte) ([]*v1alpha1.ResourceGraph, error) {
	if err := p.Add(key, sources); err != nil {
		return nil, err
	}
	request := &protocol.Sample{Timeout: samplesTime * p.options.Timeout, Clock: samplesTime * p.options.Clock}
	answer, err := p.do(ctx, key, &call{request: protocol.Request{Sample: request}, limit: request.Clock + p.options.Grace})
	if err != nil {
		return nil, err
	}
	return answer.Samples, nil
}

// maxContents is the number of contents of one Transform that the pool keeps. It bounds the disk
// space if what the Transform refers to changes often.
const maxContents = 16

// add adds a platform, unless the pool has it.
func (p *Pool) add(key Key) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrClosed
	case p.platforms[key] != nil:
		return nil
	}
	n, oldest := 0, (*platform)(nil)
	for other, pl := range p.platforms {
		if other.Transform == key.Transform {
			if n++; !pl.busy() && len(pl.calls) == 0 && (oldest == nil || pl.used.Before(oldest.used)) {
				oldest = pl
			}
		}
	}
	if n >= maxContents && oldest != nil {
		p.forget(oldest, ErrNotLoaded)
	}
	p.platforms[key] = &platform{key: key, used: time.Now(), lanes: []*lane{{}}}
	return nil
}

// Forget ends the processes of a Transform, and removes its sources.
func (p *Pool) Forget(transform types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.platforms {
		if key.Transform == transform {
			p.forget(p.platforms[key], ErrNotLoaded)
		}
	}
	p.options.Metrics.Forgotten(transform.String())
}

// forget removes a platform. Its calls that wait get the error. p.mu is held.
func (p *Pool) forget(pl *platform, err error) {
	delete(p.platforms, pl.key)
	pl.gone = err
	for _, c := range pl.calls {
		c.done <- outcome{err: err}
	}
	pl.calls = nil
	p.queue.remove(pl)
	for _, l := range pl.lanes {
		switch {
		case !l.busy:
			p.endProcess(l)
		case l.process != nil:
			l.process.kill() // the evaluation fails
		}
	}
	for key := range p.platforms {
		if key.Digest == pl.key.Digest {
			return
		}
	}
	p.store.remove(pl.key.Digest)
}

// endProcess ends the process of a lane that is not busy. p.mu is held.
func (p *Pool) endProcess(l *lane) {
	if l.idle != nil {
		l.idle.Stop()
	}
	if l.process == nil {
		return
	}
	p.running.Go(l.process.end)
	l.process, l.worked, l.memory = nil, 0, 0
	p.countProcesses(-1)
}

// countProcesses changes the number of processes. p.mu is held.
func (p *Pool) countProcesses(by int) {
	p.processes += by
	p.options.Metrics.Processes(p.processes)
}

// Close ends all processes and waits until they have ended. Calls that wait or are being
// evaluated fail with [ErrClosed].
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	for _, pl := range p.platforms {
		p.forget(pl, ErrClosed)
	}
	p.mu.Unlock()
	p.running.Wait()
	close(p.threads)
}

// do has a request of a platform answered. If ctx ends before the evaluation begins, it never
// does; after that, its result is lost.
func (p *Pool) do(ctx context.Context, key Key, c *call) (*protocol.Answer, error) {
	c.done = make(chan outcome, 1)
	p.mu.Lock()
	pl := p.platforms[key]
	switch {
	case p.closed:
		p.mu.Unlock()
		return nil, ErrClosed
	case pl == nil:
		p.mu.Unlock()
		return nil, ErrNotLoaded
	}
	pl.push(c)
	pl.used = time.Now()
	p.queue.add(pl)
	p.dispatch()
	p.mu.Unlock()
	select {
	case o := <-c.done:
		return o.answer, o.err
	case <-ctx.Done():
		p.withdraw(pl, c)
		return nil, context.Cause(ctx)
	}
}

// withdraw removes a call that waits. It does nothing once the evaluation has begun.
func (p *Pool) withdraw(pl *platform, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl.calls = slices.DeleteFunc(pl.calls, func(w *call) bool { return w == c })
	if len(pl.calls) == 0 {
		p.queue.remove(pl)
	}
}
