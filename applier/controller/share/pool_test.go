package share

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// fakeGraph is a subscriber and an owner of jobs. It keeps what it is notified of.
type fakeGraph struct {
	owner inventory.Owner

	mu           sync.Mutex
	observations []Observation
}

func (g *fakeGraph) Owner() inventory.Owner { return g.owner }

func (g *fakeGraph) Notify(o Observation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observations = append(g.observations, o)
}

// startedPool returns a pool that runs jobs, and a function that shuts it down
// and waits until it has.
func startedPool(t *testing.T, limit int) (*pool, func()) {
	p := newPool(limit)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.run(ctx, time.Minute); close(ended) }()
	shutDown := func() { cancel(); <-ended }
	t.Cleanup(shutDown)
	return p, shutDown
}

// job returns f as a job that doesn't use its context.
func job(f func()) Job { return func(context.Context) { f() } }

// A graph whose requests hang leaves room for the others.
func TestPoolLeavesRoom(t *testing.T) {
	p, shutDown := startedPool(t, 4)
	hung, other := &fakeGraph{}, &fakeGraph{}
	release := make(chan struct{})
	for range 100 {
		p.continueWork(hung, job(func() { <-release }))
	}
	for range 10 {
		done := make(chan struct{})
		p.continueWork(other, job(func() { close(done) }))
		<-done // or the test hangs
	}
	if p.mu.Lock(); p.byOwner[hung] != 2 {
		t.Errorf("%d requests of one graph are in flight; want 2 of the 3 of its namespace", p.byOwner[hung])
	}
	p.mu.Unlock()
	close(release)
	shutDown()
	if p.inFlight != 0 || len(p.byOwner) != 0 || len(p.byNamespace) != 0 || p.ongoing.owners() != 0 {
		t.Errorf("after shutdown: %d in flight, of %d owners; %d owners wait", p.inFlight, len(p.byOwner), p.ongoing.owners())
	}
}

// graphIn returns a graph of a namespace.
func graphIn(namespace string) *fakeGraph {
	return &fakeGraph{owner: inventory.Owner{Namespace: namespace}}
}

// Namespaces whose requests all hang leave room for the next one, however many
// graphs they have.
func TestPoolLeavesRoomForNamespaces(t *testing.T) {
	p, _ := startedPool(t, 40)
	release := make(chan struct{})
	defer close(release)
	for _, namespace := range []string{"a", "b", "c"} {
		for range 60 {
			p.continueWork(graphIn(namespace), job(func() { <-release }))
		}
	}
	for range 10 {
		done := make(chan struct{})
		p.continueWork(graphIn("d"), job(func() { close(done) }))
		<-done // or the test hangs
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, want := range map[string]int{"a": 30, "b": 7, "c": 2} {
		if got := p.byNamespace[namespace]; got != want {
			t.Errorf("%d requests of namespace %s are in flight; want %d", got, namespace, want)
		}
	}
}

// Requests to another cluster that all hang leave room for those of the same namespace, and of
// the same graph, to the cluster of the graphs.
func TestPoolLeavesRoomForClusters(t *testing.T) {
	home := New(Options{Requests: 40, Steps: 4})
	running, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { home.Run(running, time.Minute); close(ended) }()
	defer func() { stop(); <-ended }()
	distant := home.Distant(nil, "prod")
	release := make(chan struct{})
	defer close(release)
	g := graphIn("a")
	for range 60 {
		distant.Continue(g, func(context.Context) { <-release })
		distant.Continue(graphIn("a"), func(context.Context) { <-release })
	}
	for range 10 {
		done := make(chan struct{})
		home.Continue(g, func(context.Context) { close(done) })
		<-done // or the test hangs
	}
	if !distant.CrowdedFor(g) || home.CrowdedFor(g) {
		t.Error("the cluster isn't told from the namespace")
	}
	p := home.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.byNamespace["a/prod"]; got != 30 {
		t.Errorf("%d requests to the cluster are in flight; want 30", got)
	}
}

// A namespace with many graphs gets as many turns as one with a single graph.
func TestPoolNamespacesTakeTurns(t *testing.T) {
	p, _ := startedPool(t, 1)
	var (
		mu    sync.Mutex
		order []string
		all   sync.WaitGroup
	)
	begin := make(chan struct{})
	p.continueWork(graphIn("x"), job(func() { <-begin }))
	put := func(namespace string) {
		all.Add(1)
		p.continueWork(graphIn(namespace), job(func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, namespace)
			all.Done()
		}))
	}
	for range 20 {
		put("many")
	}
	put("few")
	put("few")
	close(begin)
	all.Wait()
	if got := strings.Join(order[:4], " "); got != "many few many few" {
		t.Errorf("ran in order %s", got)
	}
}

// Graphs take turns, and the jobs of each keep their order.
func TestPoolTakesTurns(t *testing.T) {
	p, _ := startedPool(t, 1)
	var (
		mu    sync.Mutex
		order []string
		all   sync.WaitGroup
	)
	begin := make(chan struct{})
	p.continueWork(&fakeGraph{}, job(func() { <-begin }))
	a, b, c := &fakeGraph{}, &fakeGraph{}, &fakeGraph{}
	for _, queued := range []struct {
		of   *fakeGraph
		name string
	}{{a, "a1"}, {a, "a2"}, {a, "a3"}, {b, "b1"}, {c, "c1"}, {b, "b2"}} {
		all.Add(1)
		p.continueWork(queued.of, job(func() {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, queued.name)
			all.Done()
		}))
	}
	close(begin)
	all.Wait()
	if want := []string{"a1", "b1", "c1", "a2", "b2", "a3"}; !slices.Equal(order, want) {
		t.Errorf("ran in order %v; want %v", order, want)
	}
}

// Jobs that continue work come before jobs that begin work, which aren't starved.
func TestPoolBeginsLast(t *testing.T) {
	p, _ := startedPool(t, 1)
	var (
		order []string
		all   sync.WaitGroup
	)
	begin := make(chan struct{})
	p.continueWork(&fakeGraph{}, job(func() { <-begin }))
	a := &fakeGraph{}
	put := func(how func(any, Job), name string) {
		all.Add(1)
		how(a, job(func() { order = append(order, name); all.Done() })) // one at a time
	}
	for range 3 {
		put(p.beginWork, "b")
	}
	for range 2 * freshEvery {
		put(p.continueWork, "-")
	}
	close(begin)
	all.Wait()
	if got, want := strings.Join(order, ""), "-------b-------b--b"; got != want {
		t.Errorf("ran in order %s; want %s", got, want)
	}
}

// A shutdown waits for the jobs in flight and starts no others.
func TestPoolShutdown(t *testing.T) {
	p, g := newPool(1), &fakeGraph{}
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan bool)
	go func() { p.run(ctx, time.Minute); close(drained) }()
	var done atomic.Int32
	begun, end := make(chan bool), make(chan bool)
	p.continueWork(g, func(ctx context.Context) {
		close(begun)
		<-end
		if ctx.Err() == nil {
			done.Add(1)
		}
	})
	p.continueWork(g, job(func() { done.Add(10) })) // waits for the first
	<-begun
	cancel()
	for closed := false; !closed; {
		p.mu.Lock()
		closed = p.closed
		p.mu.Unlock()
	}
	p.continueWork(g, job(func() { done.Add(100) }))
	close(end)
	<-drained
	p.continueWork(g, job(func() { done.Add(1000) }))
	time.Sleep(10 * time.Millisecond) // in which it would be started
	if n := done.Load(); n != 1 {
		t.Errorf("ran: %d; want the first job only, with a context that isn't canceled", n)
	}
}

// Jobs that don't end within the shutdown timeout are canceled.
func TestPoolShutdownTimeout(t *testing.T) {
	p, g := newPool(2), &fakeGraph{}
	ctx, cancel := context.WithCancel(t.Context())
	begun, canceled := make(chan bool), make(chan bool)
	p.continueWork(g, func(ctx context.Context) {
		close(begun)
		<-ctx.Done()
		close(canceled)
	})
	ended := make(chan bool)
	go func() { p.run(ctx, 10*time.Millisecond); close(ended) }()
	<-begun
	cancel()
	<-ended
	<-canceled
}

// A job that was admitted but not started yet is discarded by a shutdown.
func TestPoolShutdownBeforeStart(t *testing.T) {
	p := newPool(2)
	p.continueWork(&fakeGraph{}, job(func() { t.Error("the job was started") }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.run(ctx, time.Minute)
	if p.inFlight != 0 {
		t.Errorf("%d in flight", p.inFlight)
	}
}

// The pool is crowded for a namespace whose jobs wait, although it has room for others.
func TestPoolIsCrowdedForNamespace(t *testing.T) {
	p, _ := startedPool(t, 4)
	busy, other := &fakeGraph{owner: inventory.Owner{Namespace: "busy"}}, &fakeGraph{owner: inventory.Owner{Namespace: "other"}}
	release := make(chan struct{})
	defer close(release)
	if p.crowdedFor(busy) {
		t.Error("an idle pool is crowded")
	}
	for range 4 {
		p.continueWork(busy, job(func() { <-release }))
	}
	if !p.crowdedFor(busy) || p.crowdedFor(other) || p.crowded() {
		t.Errorf("crowded for the namespace whose jobs wait: %t, for another one: %t, for all: %t", p.crowdedFor(busy), p.crowdedFor(other), p.crowded())
	}
}
