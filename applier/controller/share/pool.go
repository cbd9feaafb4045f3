package share

import (
	"context"
	"sync"
	"time"
)

// pool runs jobs, a bounded number at once.
//
// Jobs that continue work take precedence over jobs that begin work: if a
// thousand graphs arrive at once, only a few are in memory together, and the
// first are ready soon. Within either class, namespaces take turns, and so do the
// owners within a namespace.
//
// No namespace gets the whole pool, so that the others proceed while its requests
// hang, for example in a webhook that doesn't answer: it may use three quarters of
// the slots that other namespaces leave free. Of 40 slots, the first namespace gets
// 30, a second one 7, and the next ones find room too. Within a namespace, the same
// rule holds for owners. A goroutine exists only while it has a job to run.
type pool struct {
	limit int // jobs in flight

	// started hands jobs that were admitted to run, which starts them. It has
	// room for limit jobs, so that sending never blocks.
	started chan task

	mu       sync.Mutex
	ongoing  turns // jobs that continue work
	fresh    turns // jobs that begin work
	dequeued int   // jobs taken from either queue
	inFlight int
	// byOwner and byNamespace count jobs in flight; no entry means none.
	byOwner     map[any]int
	byNamespace map[string]int
	held        bool // no job starts
	closed      bool
	drained     chan struct{} // closed when the pool is closed and nothing is in flight
	abort       chan struct{} // closed when the jobs in flight aren't waited for
	abortOnce   func()        // closes abort
}

// freshEvery reserves one of so many dequeued jobs for jobs that begin work, so
// that they aren't starved.
const freshEvery = 8

func newPool(limit int) *pool {
	abort := make(chan struct{})
	return &pool{
		limit: limit, started: make(chan task, limit), abort: abort, abortOnce: sync.OnceFunc(func() { close(abort) }),
		byOwner: map[any]int{}, byNamespace: map[string]int{}, drained: make(chan struct{}),
	}
}

// run starts jobs until ctx is done. Then it discards the jobs that wait, and
// those that are queued later. It returns when the jobs in flight have ended,
// after timeout at the latest; jobs that are left then are canceled.
func (p *pool) run(ctx context.Context, timeout time.Duration) {
	// Jobs get the values of ctx but not its end: that would abort requests at
	// the moment at which they are to be completed.
	jobs, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for ctx.Err() == nil {
		select {
		case t := <-p.started:
			go p.work(jobs, t)
		case <-ctx.Done():
		}
	}
	p.close()
	select {
	case <-p.drained:
	case <-p.abort:
	case <-time.After(timeout):
	}
}

// continueWork queues a job that continues work.
func (p *pool) continueWork(owner any, job Job) { p.put(&p.ongoing, task{owner, job}) }

// beginWork queues a job that begins work.
func (p *pool) beginWork(owner any, job Job) { p.put(&p.fresh, task{owner, job}) }

func (p *pool) put(queue *turns, t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case queue.has(t.owner) || !p.hasRoom(t.owner):
		queue.add(t)
	default:
		p.admit(t.owner)
		p.started <- t
	}
}

// hasRoom reports whether a job of an owner may start now. The caller holds p.mu,
// here and in the next two methods.
func (p *pool) hasRoom(owner any) bool {
	ofNamespace, ofOwner := p.byNamespace[namespace(owner)], p.byOwner[owner]
	forNamespace := portion(p.limit - p.inFlight + ofNamespace)
	return !p.held && p.inFlight < p.limit && ofNamespace < forNamespace && ofOwner < portion(forNamespace-ofNamespace+ofOwner)
}

// portion returns how many of the slots that others leave free one may use.
func portion(free int) int { return max(free*3/4, 1) }

// admit counts a job as in flight.
func (p *pool) admit(owner any) {
	p.inFlight++
	p.byOwner[owner]++
	p.byNamespace[namespace(owner)]++
}

// end undoes admit.
func (p *pool) end(owner any) {
	p.inFlight--
	if p.byOwner[owner]--; p.byOwner[owner] == 0 {
		delete(p.byOwner, owner)
	}
	name := namespace(owner)
	if p.byNamespace[name]--; p.byNamespace[name] == 0 {
		delete(p.byNamespace, name)
	}
	if p.closed && p.inFlight == 0 {
		close(p.drained)
	}
}

// crowded reports whether jobs wait although the pool is full.
func (p *pool) crowded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight == p.limit && p.ongoing.owners()+p.fresh.owners() > 0
}

// crowdedFor reports whether jobs of the namespace of an owner wait.
func (p *pool) crowdedFor(owner any) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := namespace(owner)
	return p.ongoing.namespaces[name] != nil || p.fresh.namespaces[name] != nil
}

// waiting returns the number of owners whose jobs wait.
func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ongoing.owners() + p.fresh.owners()
}

// work runs a job, and then others as long as some wait.
func (p *pool) work(ctx context.Context, t task) {
	for t.job != nil {
		t.job(ctx)
		t = p.next(t.owner)
	}
}

// next ends a job of an owner and admits the next one. Its job is nil if none
// can be started.
func (p *pool) next(ended any) task {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(ended)
	return p.take()
}

// take admits the next job. Its job is nil if none can be started. The caller holds
// p.mu.
func (p *pool) take() task {
	p.dequeued++
	first, second := &p.ongoing, &p.fresh
	if p.dequeued%freshEvery == 0 {
		first, second = second, first
	}
	for _, queue := range []*turns{first, second} {
		if t := queue.take(p.hasRoom); t.job != nil {
			p.admit(t.owner)
			return t
		}
	}
	return task{}
}

// hold keeps jobs from being started until it is called with false.
func (p *pool) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
	if held || p.closed {
		return
	}
	for t := p.take(); t.job != nil; t = p.take() {
		p.started <- t
	}
}

// close discards the jobs that aren't running, and refuses others from now on.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ongoing, p.fresh, p.closed = turns{}, turns{}, true
	if p.inFlight == 0 {
		close(p.drained)
		return
	}
	for {
		select {
		case t := <-p.started:
			p.end(t.owner)
		default:
			return
		}
	}
}
