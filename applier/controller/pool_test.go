package controller

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A graph whose requests hang leaves room for the others.
func TestPoolLeavesRoom(t *testing.T) {
	p := newPool(4)
	hung, other := &driver{}, &driver{}
	release := make(chan struct{})
	for range 100 {
		p.do(hung, func() { <-release })
	}
	for range 10 {
		done := make(chan struct{})
		p.do(other, func() { close(done) })
		<-done // or the test hangs
	}
	if p.mu.Lock(); p.busy[hung] != 3 {
		t.Errorf("%d requests of one graph are under way; want 3 of 4", p.busy[hung])
	}
	p.mu.Unlock()
	close(release)
	p.drain(time.Minute)
	if p.running != 0 || len(p.busy) != 0 || len(p.ongoing.order) != 0 {
		t.Errorf("%d run, %d are busy, %d wait", p.running, len(p.busy), len(p.ongoing.order))
	}
}

// Graphs take turns, and the jobs of each keep their order.
func TestPoolTakesTurns(t *testing.T) {
	p := newPool(1)
	var (
		mu    sync.Mutex
		order []string
		all   sync.WaitGroup
	)
	begin := make(chan struct{})
	p.do(&driver{}, func() { <-begin })
	a, b, c := &driver{}, &driver{}, &driver{}
	for _, job := range []struct {
		of   *driver
		name string
	}{{a, "a1"}, {a, "a2"}, {a, "a3"}, {b, "b1"}, {c, "c1"}, {b, "b2"}} {
		all.Add(1)
		p.do(job.of, func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, job.name)
			all.Done()
		})
	}
	close(begin)
	all.Wait()
	if want := []string{"a1", "b1", "c1", "a2", "b2", "a3"}; !slices.Equal(order, want) {
		t.Errorf("done in order %v; want %v", order, want)
	}
}

// What was begun comes before what is to be begun, which gets its turn all the same.
func TestPoolBeginsLast(t *testing.T) {
	p := newPool(1)
	var (
		order []string
		all   sync.WaitGroup
	)
	hold := make(chan struct{})
	p.do(&driver{}, func() { <-hold })
	a := &driver{}
	put := func(how func(any, func()), name string) {
		all.Add(1)
		how(a, func() { order = append(order, name); all.Done() }) // one at a time
	}
	for range 3 {
		put(p.begin, "b")
	}
	for range 2 * freshEvery {
		put(p.do, "-")
	}
	close(hold)
	all.Wait()
	if got, want := strings.Join(order, ""), "-------b-------b--b"; got != want {
		t.Errorf("done in order %s; want %s", got, want)
	}
}

func TestDrain(t *testing.T) {
	p, d := newPool(1), &driver{}
	var done atomic.Int32
	begun, end := make(chan bool), make(chan bool)
	p.do(d, func() { close(begun); <-end; done.Add(1) })
	p.do(d, func() { done.Add(10) }) // waits for the first
	<-begun
	drained := make(chan bool)
	go func() { p.drain(time.Minute); close(drained) }()
	for closed := false; !closed; {
		p.mu.Lock()
		closed = p.closed
		p.mu.Unlock()
	}
	p.do(d, func() { done.Add(100) })
	close(end)
	<-drained
	p.do(d, func() { done.Add(1000) })
	time.Sleep(10 * time.Millisecond) // in which it would be begun
	if n := done.Load(); n != 1 {
		t.Errorf("done: %d; want the first job alone", n)
	}
}
