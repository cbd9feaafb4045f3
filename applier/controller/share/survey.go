package share

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Survey is the request of one graph to read all of its objects.
type Survey struct {
	Graph   Graph
	Targets []engine.Target
	// Recorded is set if the graph has an inventory. Only then is it likely that
	// its objects exist and that a list for many graphs finds them.
	Recorded bool
	// Alone reads the objects of this graph only, as its account. It reports an
	// error in the outcome.
	Alone func(ctx context.Context) engine.Outcome
	// Found receives the objects of a shared list, in several parts. The objects of a
	// watch's first list reach the graph as an observation instead. Done then receives
	// the outcome, which doesn't repeat them. Alone leads to Done only. Both are called
	// from any goroutine, and neither blocks nor calls the Share.
	Found func([]*unstructured.Unstructured)
	Done  func(engine.Outcome)
}

// surveys reads the objects of graphs, each as its graph's account. The kinds that
// the applier watches itself are read otherwise if the applier has just started: the
// first list of each watch, as the applier, serves all graphs (firstlist.go). If many
// graphs come later, these kinds are listed again for all of them together.
type surveys struct {
	pool    *pool
	own     *cluster.Client
	watches watches
	owner   func(Graph) any // of jobs, see [Share.owner]
	managed func() string   // see [Options.Managed]

	mu      sync.Mutex
	waiting []*Survey
	listing bool // a list for many graphs is in flight
	read    int  // objects that the last list has read
}

// watches are those of the hub, as the surveys see them.
type watches interface {
	// watchesAll reports whether all objects of a kind that belong to graphs are watched.
	watchesAll(schema.GroupVersionKind) bool
	// awaitFirstLists calls then when a graph was notified of the first lists of the
	// watches of all targets. It returns false if the lists can't be awaited.
	awaitFirstLists(g Graph, targets []engine.Target, then func(listed bool)) bool
	// waiting returns the number of graphs whose steps wait.
	waiting() int
}

const (
	// minShared is the number of graphs from which on one list serves all of them.
	minShared = 16
	// gatherTime is how long a list waits at most for graphs that it could serve, too. The time
	// begins again while those of a start become fewer, up to maxGatherTime. gatherPause is how
	// often it looks for them.
	gatherTime, maxGatherTime, gatherPause = 3 * time.Second, time.Minute, 10 * time.Millisecond
	// enoughShared is the number of surveys for which a list doesn't wait any longer, or a
	// sixty-fourth of the objects of the last list if that is more: a list reads the objects of
	// all graphs, however many surveys it serves.
	enoughShared = 250
)

// add queues a survey. One that can't be served by a shared list isn't made to
// wait for one.
func (s *surveys) add(v *Survey) {
	shareable := v.Recorded
	for _, t := range v.Targets {
		// What the applier doesn't watch, it may not list either.
		shareable = shareable && t.Labeled && s.watches.watchesAll(KindOf(t))
	}
	answer := func(listed bool) {
		if listed {
			v.Done(unclaimed(v.Targets))
		} else {
			s.readAlone(v)
		}
	}
	switch {
	case !shareable:
		s.readAlone(v)
		return
	case s.watches.awaitFirstLists(v.Graph, v.Targets, answer):
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, v)
	s.pool.beginWork(s.owner(v.Graph), s.next)
}

// readAlone queues a survey as a job of its own.
func (s *surveys) readAlone(v *Survey) {
	s.pool.beginWork(s.owner(v.Graph), func(ctx context.Context) { v.Done(v.Alone(ctx)) })
}

// next serves the first waiting survey, or all if many wait. Every survey brings
// one such job along; a job does nothing if an earlier one has served its survey,
// or if the list in flight is going to be followed by another one.
func (s *surveys) next(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.waiting) == 0:
	case len(s.waiting) < minShared:
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		first.Done(first.Alone(ctx))
		s.mu.Lock()
	case !s.listing:
		s.listing = true
		for len(s.waiting) >= minShared {
			s.gather()
			all := s.waiting
			s.waiting = nil
			s.mu.Unlock()
			s.list(ctx, all)
			s.mu.Lock()
		}
		// The jobs of these surveys may have ended while the list was in flight.
		for _, v := range s.waiting {
			s.readAlone(v)
		}
		s.waiting, s.listing = nil, false
	}
}

// gather waits while other graphs are about to ask for a survey. The caller
// holds s.mu, which gather unlocks in between.
func (s *surveys) gather() {
	for end := time.Now().Add(gatherTime); time.Now().Before(end) && len(s.waiting) < max(enoughShared, s.read/64) && s.watches.waiting() > 0; {
		s.mu.Unlock()
		time.Sleep(gatherPause)
		s.mu.Lock()
	}
}

// list reads the objects of many graphs page by page. Pages are handed over at
// once, so that no more than one is in memory.
func (s *surveys) list(ctx context.Context, all []*Survey) {
	byOwner := make(map[inventory.Owner]*Survey, len(all))
	kinds := map[schema.GroupVersionKind]bool{}
	for _, v := range all {
		byOwner[labeled(v.Graph.Owner())] = v
		for _, t := range v.Targets {
			kinds[KindOf(t)] = true
		}
	}
	read := 0
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.read = read
	}()
	for gvk := range kinds {
		request := Selection{GVK: gvk}.Request(s.managed())
		err := s.own.ListPages(ctx, request, func(page []unstructured.Unstructured) {
			read += len(page)
			handOver(page, byOwner)
		})
		if err != nil {
			// Each graph tries as its own account, which either works or yields an
			// error of its own.
			for _, v := range all {
				s.readAlone(v)
			}
			return
		}
	}
	for _, v := range all {
		v.Done(unclaimed(v.Targets))
	}
}

// unclaimed returns the outcome of a survey whose objects were handed over already. A
// target that wasn't found may exist without its labels, so nothing is claimed about
// it; the engine reads it by name.
func unclaimed(targets []engine.Target) engine.Outcome {
	o := engine.Outcome{Unreadable: make(map[inventory.Key]error, len(targets))}
	for _, t := range targets {
		o.Unreadable[t.Key] = nil
	}
	return o
}

// handOver hands the objects of a page over to the surveys of their graphs.
func handOver(page []unstructured.Unstructured, byOwner map[inventory.Owner]*Survey) {
	parts := map[*Survey][]*unstructured.Unstructured{}
	for i := range page {
		owner, owned := inventory.OwnerOf(page[i].GetLabels())
		if v := byOwner[owner]; owned && v != nil {
			parts[v] = append(parts[v], &page[i])
		}
	}
	for v, part := range parts {
		v.Found(part)
	}
}
