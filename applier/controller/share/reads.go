package share

import (
	"context"
	"sync"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// ReadNamespace reads something of a namespace as the account that a client acts as.
type ReadNamespace[V any] func(ctx context.Context, namespace string, client *cluster.Client) (V, error)

// reader reads a namespace as an account. The account of a graph that pequod-manager made is in another
// namespace than the graph.
type reader struct {
	Account
	of string // the namespace that is read
}

// reads makes one read of a namespace answer many graphs.
//
// Callers that ask while a read is in flight are answered together by the next
// read, which begins after they asked. So a namespace whose graphs are created or
// deleted together isn't read once for each of them. While other graphs are about to
// begin, and may ask too, the next read waits for minShared callers.
type reads[V any] struct {
	pool *pool
	read ReadNamespace[V]
	log  logr.Logger

	mu      sync.Mutex
	waiting map[reader][]func(V, error) // for the next read
	reading map[reader]bool             // a read is in flight
}

func newReads[V any](p *pool, read ReadNamespace[V], log logr.Logger) *reads[V] {
	return &reads[V]{pool: p, read: read, log: log, waiting: map[reader][]func(V, error){}, reading: map[reader]bool{}}
}

// ask asks for a read. The answer is given by a goroutine of the pool. Reads are jobs of the
// reader, so that they aren't counted as requests of one of the graphs.
func (l *reads[V]) ask(a reader, client *cluster.Client, answer func(V, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[a] = append(l.waiting[a], answer)
	// While a read is in flight, its end queues the next one.
	if n := len(l.waiting[a]); !l.reading[a] && (n == 1 || n == minShared) {
		l.pool.continueWork(a, func(ctx context.Context) { l.answer(ctx, a, client) })
	}
}

// answer answers all who wait when it is called, and queues another read if others ask
// meanwhile. If few do, it is a job that begins work: the jobs of graphs that are about to
// begin come before it.
//
// It does nothing if an earlier job has answered all, or if a read is in flight.
func (l *reads[V]) answer(ctx context.Context, a reader, client *cluster.Client) {
	l.mu.Lock()
	waiting := l.waiting[a]
	if l.reading[a] || len(waiting) == 0 {
		l.mu.Unlock()
		return
	}
	l.reading[a] = true
	delete(l.waiting, a)
	l.mu.Unlock()
	found, err := l.readSafely(ctx, a.of, client)
	for _, answer := range waiting {
		answer(found, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.reading, a)
	next := func(ctx context.Context) { l.answer(ctx, a, client) }
	switch n := len(l.waiting[a]); {
	case n >= minShared:
		l.pool.continueWork(a, next)
	case n > 0:
		l.pool.beginWork(a, next)
	}
}

// readSafely reads. A panic becomes an error of those who asked.
func (l *reads[V]) readSafely(ctx context.Context, namespace string, client *cluster.Client) (_ V, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(l.log, p, inventory.Owner{Namespace: namespace})
		}
	}()
	return l.read(ctx, namespace, client)
}
