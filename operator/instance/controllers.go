package instance

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/operator/catalog"
)

// controllers are the controllers of all kinds in the catalog.
type controllers struct {
	*services

	mu      sync.Mutex
	running map[schema.GroupKind]*runningKind
	all     sync.WaitGroup // of controllers that have not ended
}

// runningKind is a controller that was started.
type runningKind struct {
	*kind
	stop  context.CancelFunc
	ended chan struct{}
}

// run runs controllers until ctx is done and all of them have ended. It begins when all
// graphs are known: otherwise each of them would be read.
func (c *controllers) run(ctx context.Context) error {
	defer c.all.Wait()
	if c.watchGraphs != nil {
		c.all.Go(func() { c.watchGraphs(ctx) })
	}
	select {
	case <-ctx.Done():
		return nil
	case <-c.Graphs.listed:
	}
	c.Catalog.Watch(ctx, func(kind schema.GroupKind, e *catalog.Entry) { c.change(ctx, kind, e) })
	return nil
}

// change starts, updates or stops the controller of a kind whose entry has changed. The entry
// is nil if there is none any more.
func (c *controllers) change(ctx context.Context, kind schema.GroupKind, e *catalog.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.running[kind]
	if old != nil && e != nil && sameResource(old.entry.Load(), e) {
		old.update(e)
		return
	}
	if old != nil {
		old.stop()
		delete(c.running, kind)
	}
	if e == nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	next := &runningKind{kind: newKind(c.services, e), stop: stop, ended: make(chan struct{})}
	c.running[kind] = next
	c.all.Go(func() {
		defer close(next.ended)
		defer stop()
		if old != nil {
			<-old.ended // two controllers of one kind would write at once
		}
		c.Board.Join(kind, next.kind)
		defer c.Board.Leave(kind, next.kind)
		if err := next.run(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "the controller ended", "kind", kind.String())
		}
	})
}

// sameResource reports whether two entries of a kind have the same instances. A watch that began
// before the schema changed still drops the new fields for a second or more, and what it has
// shown then would stay.
func sameResource(a, b *catalog.Entry) bool {
	return a.Schema == b.Schema && (a.NotReady == "") == (b.NotReady == "") && a.Names.Plural == b.Names.Plural && a.Names.Version == b.Names.Version && a.Names.Scope == b.Names.Scope
}

// graphChanged wakes the instance that a graph was rendered from.
func (c *controllers) graphChanged(source sourceKey) {
	c.mu.Lock()
	k := c.running[source.kind]
	c.mu.Unlock()
	if k != nil {
		k.enqueue(source.NamespacedName, false)
	}
}

// tryForbidden tries an instance of each kind again that was forbidden.
func (c *controllers) tryForbidden() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.running {
		k.tryForbidden()
	}
}
