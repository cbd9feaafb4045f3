package share

import (
	"context"
	"sync"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// listings finds out which objects the graphs of a namespace list: objects that
// another graph lists are handed over to it instead of being deleted.
//
// Callers that ask while a read is in flight are answered together by the next
// read, which begins after they asked. So a namespace whose graphs are deleted
// together isn't read once for each of them.
type listings struct {
	pool *pool
	read func(context.Context, string, *cluster.Client) (*inventory.Listings, error)
	log  logr.Logger

	mu      sync.Mutex
	waiting map[Account][]func(*inventory.Listings, error) // for the next read
	reading map[Account]bool                               // a read is queued or in flight
}

func newListings(p *pool, read func(context.Context, string, *cluster.Client) (*inventory.Listings, error), log logr.Logger) *listings {
	return &listings{
		pool: p, read: read, log: log,
		waiting: map[Account][]func(*inventory.Listings, error){}, reading: map[Account]bool{},
	}
}

// ask implements [Share.Listings].
func (l *listings) ask(a Account, client *cluster.Client, answer func(*inventory.Listings, error)) {
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
func (l *listings) enqueue(a Account, client *cluster.Client) {
	l.pool.continueWork(a, func(ctx context.Context) { l.answer(ctx, a, client) })
}

// answer answers all who wait when it is called, and queues another read if
// others have asked meanwhile.
func (l *listings) answer(ctx context.Context, a Account, client *cluster.Client) {
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

// readSafely reads the listings. A panic becomes an error of those who asked.
func (l *listings) readSafely(ctx context.Context, namespace string, client *cluster.Client) (_ *inventory.Listings, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(l.log, p, inventory.Owner{Namespace: namespace})
		}
	}()
	return l.read(ctx, namespace, client)
}
