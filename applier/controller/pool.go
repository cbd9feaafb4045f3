package controller

import (
	"sync"
	"time"
)

// pool does jobs, a bounded number at once, in the order in which they come. Its
// goroutines are there only while there is something to do.
type pool struct {
	limit int

	mu      sync.Mutex
	waiting []func()
	running int
	idle    sync.Cond // signalled when nothing runs
}

func newPool(limit int) *pool {
	p := &pool{limit: limit}
	p.idle.L = &p.mu
	return p
}

// do has a job done and doesn't wait for it.
func (p *pool) do(job func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == p.limit {
		p.waiting = append(p.waiting, job)
		return
	}
	p.running++
	go p.work(job)
}

func (p *pool) work(job func()) {
	for job != nil {
		job()
		job = p.next()
	}
}

func (p *pool) next() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		if p.running--; p.running == 0 {
			p.waiting = nil // its array may have grown large
			p.idle.Broadcast()
		}
		return nil
	}
	job := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	return job
}

// drain waits until nothing runs, for a time; what waits isn't begun any more.
func (p *pool) drain(most time.Duration) {
	stop := time.AfterFunc(most, p.idle.Broadcast)
	defer stop.Stop()
	end := time.Now().Add(most)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = nil
	for p.running > 0 && time.Now().Before(end) {
		p.idle.Wait()
	}
}
