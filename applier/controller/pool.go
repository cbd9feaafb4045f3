package controller

import (
	"slices"
	"sync"
	"time"
)

// pool does jobs, a bounded number at once. Those that go on with what was begun
// come before those that begin something: of a thousand graphs that come at once,
// few are then in memory together, and the first are ready soon. Among either,
// graphs take turns, and none has the whole pool: where the requests of one hang,
// as at a webhook that doesn't answer, the others go on. Its goroutines are there
// only while there is something to do.
type pool struct {
	limit int // at once
	each  int // of one graph

	mu      sync.Mutex
	ongoing turns
	fresh   turns
	taken   int // jobs that had to wait
	busy    map[any]int
	running int
	closed  bool
	idle    sync.Cond // signalled when nothing runs
}

// freshEvery has one job of so many begin something, whatever else waits.
const freshEvery = 8

func newPool(limit int) *pool {
	p := &pool{limit: limit, each: max(limit*3/4, 1), busy: map[any]int{}}
	p.idle.L = &p.mu
	return p
}

// do has a job done and doesn't wait for it. It is one of those of a graph's driver,
// or of an account for all of its graphs. A pool that is drained does nothing any more.
func (p *pool) do(of any, job func()) { p.put(&p.ongoing, of, job) }

// begin has a job done that begins something.
func (p *pool) begin(of any, job func()) { p.put(&p.fresh, of, job) }

func (p *pool) put(q *turns, of any, job func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case q.has(of) || !p.room(of):
		q.add(of, job)
	default:
		p.began(of)
		go p.work(of, job)
	}
}

func (p *pool) room(of any) bool { return p.running < p.limit && p.busy[of] < p.each }

func (p *pool) began(of any) {
	p.running++
	p.busy[of]++
}

func (p *pool) ended(of any) {
	p.running--
	if p.busy[of]--; p.busy[of] == 0 {
		delete(p.busy, of)
	}
}

// crowded says whether there is more to do than can be done at once: what is only
// nice to have may be left for later.
func (p *pool) crowded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running == p.limit && len(p.ongoing.order)+len(p.fresh.order) > 0
}

func (p *pool) work(of any, job func()) {
	for job != nil {
		job()
		of, job = p.next(of)
	}
}

// next is the job that is done after one of the given graph has ended.
func (p *pool) next(ended any) (any, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended(ended)
	p.taken++
	first, second := &p.ongoing, &p.fresh
	if p.taken%freshEvery == 0 {
		first, second = second, first
	}
	for _, q := range []*turns{first, second} {
		if of, job := q.take(p.room); job != nil {
			p.began(of)
			return of, job
		}
	}
	if p.running == 0 {
		p.idle.Broadcast()
	}
	return nil, nil
}

// drain waits until nothing runs, for a time; what waits isn't begun any more, nor
// what a worker that hasn't ended yet still asks for: somebody else may lead by then.
func (p *pool) drain(most time.Duration) {
	stop := time.AfterFunc(most, p.idle.Broadcast)
	defer stop.Stop()
	end := time.Now().Add(most)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ongoing, p.fresh, p.closed = turns{}, turns{}, true
	for p.running > 0 && time.Now().Before(end) {
		p.idle.Wait()
	}
}

// turns are jobs that wait: whose they are takes turns, and has them done in the
// order in which they came.
type turns struct {
	jobs  map[any][]func()
	order []any
}

func (t *turns) has(of any) bool { return len(t.jobs[of]) > 0 }

func (t *turns) add(of any, job func()) {
	if t.jobs == nil {
		t.jobs = map[any][]func(){}
	}
	if !t.has(of) {
		t.order = append(t.order, of)
	}
	t.jobs[of] = append(t.jobs[of], job)
}

// take takes the next job of somebody for whom there is room, nil if there is none.
func (t *turns) take(room func(any) bool) (any, func()) {
	i := slices.IndexFunc(t.order, room)
	if i < 0 {
		return nil, nil
	}
	of := t.order[i]
	t.order = slices.Delete(t.order, i, i+1)
	jobs := t.jobs[of]
	job := jobs[0]
	if jobs[0] = nil; len(jobs) > 1 {
		t.jobs[of] = jobs[1:]
		t.order = append(t.order, of)
		return of, job
	}
	if delete(t.jobs, of); len(t.jobs) == 0 {
		*t = turns{} // they may have grown large
	}
	return of, job
}
