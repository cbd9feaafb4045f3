package effect

import (
	"context"
	"sync"
	"time"
)

const (
	// maxBatch is the number of messages that share one write. It is less than the number of messages
	// that an object remembers, so that each of them is remembered.
	maxBatch = maxReceipts / 2
	// batchTimeout limits one call. The caller that began it may have left.
	batchTimeout = 25 * time.Second
)

// batches run one call at a time for each name. Callers that arrive during a call share the next one,
// so they never get the result of a call that began before they arrived.
type batches[T any] struct {
	mu sync.Mutex
	of map[string]*queue[T]
}

// queue has the callers that wait for the next call.
type queue[T any] struct{ waiting []caller[T] }

// caller is one of the callers of a call.
type caller[T any] struct {
	item *T
	done chan struct{} // is closed after the call
}

// join has an item processed by a call that begins after join was called, with most items at once. All
// calls of a name must process items in the same way. If ctx ends first, the item must not be read.
func (b *batches[T]) join(ctx context.Context, name string, most int, item *T, call func(context.Context, []*T)) error {
	c := caller[T]{item, make(chan struct{})}
	b.mu.Lock()
	q, running := b.of[name]
	if !running {
		if b.of == nil {
			b.of = map[string]*queue[T]{}
		}
		q = &queue[T]{}
		b.of[name] = q
		go b.work(context.WithoutCancel(ctx), name, most, q, call)
	}
	q.waiting = append(q.waiting, c)
	b.mu.Unlock()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work processes the items of a name until there are none.
func (b *batches[T]) work(ctx context.Context, name string, most int, q *queue[T], call func(context.Context, []*T)) {
	for {
		b.mu.Lock()
		batch := q.waiting[:min(len(q.waiting), most)]
		if len(batch) == 0 {
			delete(b.of, name)
			b.mu.Unlock()
			return
		}
		q.waiting = q.waiting[len(batch):]
		b.mu.Unlock()
		items := make([]*T, len(batch))
		for i := range batch {
			items[i] = batch[i].item
		}
		bounded, cancel := context.WithTimeout(ctx, batchTimeout)
		call(bounded, items)
		cancel()
		for _, c := range batch {
			close(c.done)
		}
	}
}
