package controller

import (
	"slices"
	"sync"
	"time"
)

// pool does the jobs of graphs, a bounded number at once. Graphs take turns, each
// with its jobs in their order, and none has the whole pool: where the requests
// of one hang, as at a webhook that doesn't answer, the others go on. Its
// goroutines are there only while there is something to do.
type pool struct {
	limit int // at once
	each  int // of one graph

	mu      sync.Mutex
	waiting map[any][]func()
	turns   []any // of those that wait, the next one first
	busy    map[any]int
	running int
	closed  bool
	idle    sync.Cond // signalled when nothing runs
}

func newPool(limit int) *pool {
	p := &pool{limit: limit, each: max(limit*3/4, 1), waiting: map[any][]func(){}, busy: map[any]int{}}
	p.idle.L = &p.mu
	return p
}

// do has a job done and doesn't wait for it. It is one of those of a graph's driver,
// or of an account for all of its graphs. A pool that is drained does nothing any more.
func (p *pool) do(of any, job func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if len(p.waiting[of]) > 0 || !p.room(of) {
		if len(p.waiting[of]) == 0 {
			p.turns = append(p.turns, of)
		}
		p.waiting[of] = append(p.waiting[of], job)
		return
	}
	p.began(of)
	go p.work(of, job)
}

func (p *pool) room(of any) bool { return p.running < p.limit && p.busy[of] < p.each }

func (p *pool) began(of any) {
	p.running++
	p.busy[of]++
}

func (p *pool) work(of any, job func()) {
	for job != nil {
		job()
		of, job = p.next(of)
	}
}

// next is the job that is done after one that has ended.
func (p *pool) next(ended any) (any, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running--; p.busy[ended] == 1 {
		delete(p.busy, ended)
	} else {
		p.busy[ended]--
	}
	turn := slices.IndexFunc(p.turns, p.room)
	if turn < 0 {
		if p.running == 0 {
			p.idle.Broadcast()
		}
		return nil, nil
	}
	of := p.turns[turn]
	p.turns = slices.Delete(p.turns, turn, turn+1)
	jobs := p.waiting[of]
	job := jobs[0]
	if jobs[0] = nil; len(jobs) > 1 {
		p.waiting[of] = jobs[1:]
		p.turns = append(p.turns, of)
	} else {
		delete(p.waiting, of)
	}
	p.began(of)
	return of, job
}

// drain waits until nothing runs, for a time; what waits isn't begun any more, nor
// what a worker that hasn't ended yet still asks for: somebody else may lead by then.
func (p *pool) drain(most time.Duration) {
	stop := time.AfterFunc(most, p.idle.Broadcast)
	defer stop.Stop()
	end := time.Now().Add(most)
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.waiting)
	p.turns, p.closed = nil, true
	for p.running > 0 && time.Now().Before(end) {
		p.idle.Wait()
	}
}
