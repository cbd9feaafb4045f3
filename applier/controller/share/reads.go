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

// reads makes one read of a namespace answer many graphs.
//
// Callers that ask while a read is in flight are answered together by the next
// read, which begins after they asked. So a namespace whose graphs are created or
// deleted together isn't read once for each of them.
type reads[V any] struct {
	pool *pool
	read ReadNamespace[V]
	log  logr.Logger

	mu      sync.Mutex
	waiting map[Account][]func(V, error) // for the next read
	reading map[Account]bool             // a read is queued or in flight
}

func newReads[V any](p *pool, read ReadNamespace[V], log logr.Logger) *reads[V] {
	return &reads[V]{pool: p, read: read, log: log, waiting: map[Account][]func(V, error){}, reading: map[Account]bool{}}
}

// ask asks for a read as an account. The answer is given by a goroutine of the pool.
func (l *reads[V]) ask(a Account, client *cluster.Client, answer func(V, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[a] = append(l.waiting[a], answer)
	if !l.reading[a] {
		l.reading[a] = true
		l.enqueue(a, client)
	}
}

// enqueue queues a read as a job of the account, so that it isn't counted as a
// request of one of its graphs.
func (l *reads[V]) enqueue(a Account, client *cluster.Client) {
	l.pool.continueWork(a, func(ctx context.Context) { l.answer(ctx, a, client) })
}

// answer answers all who wait when it is called, and queues another read if
// others have asked meanwhile.
func (l *reads[V]) answer(ctx context.Context, a Account, client *cluster.Client) {
	l.mu.Lock()
	waiting := l.waiting[a]
	delete(l.waiting, a)
	l.mu.Unlock()
	found, err := l.readSafely(ctx, a.Namespace, client)
	for _, answer := range waiting {
		answer(found, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting[a]) == 0 {
		delete(l.reading, a)
		return
	}
	l.enqueue(a, client)
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
