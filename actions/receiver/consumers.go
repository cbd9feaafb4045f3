package receiver

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// consumers run the sources that ask for messages: one goroutine for each Receiver, on the leader.
type consumers struct {
	// begun is closed when ctx is there.
	begun chan struct{}
	ctx   context.Context // it ends what outlives a reconciliation
	wait  sync.WaitGroup
	// changed has Receivers whose state has changed.
	changed chan event.TypedGenericEvent[*v1alpha1.Receiver]

	mu sync.Mutex
	of map[types.NamespacedName]*consumer
	// ended is set when no more sources may begin.
	ended bool
}

// consumer is the source of one generation of a Receiver.
type consumer struct {
	key  string
	stop context.CancelFunc
	done chan struct{}
	// reported is set when the source has been reached, or couldn't be because of err. The lock
	// of consumers guards both.
	reported bool
	err      error
}

func newConsumers() *consumers {
	return &consumers{
		begun: make(chan struct{}), of: map[types.NamespacedName]*consumer{},
		changed: make(chan event.TypedGenericEvent[*v1alpha1.Receiver], 1024),
	}
}

// Start implements manager.Runnable. It waits for all sources when ctx is done. Only the leader
// calls it.
func (c *consumers) Start(ctx context.Context) error {
	c.ctx = ctx
	close(c.begun)
	<-ctx.Done()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock() // a source that reports while it ends needs the lock
	c.wait.Wait()
	return nil
}

// ensure runs the source of a Receiver, and returns its state. A source of an older generation
// ends first.
func (c *consumers) ensure(ctx context.Context, a *v1alpha1.Receiver, run func(ctx context.Context, report func(error))) (reported bool, err error) {
	select {
	case <-c.begun:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	name := client.ObjectKeyFromObject(a)
	key := fmt.Sprintf("%s %d", a.UID, a.Generation)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.of[name]
	if known != nil && known.key == key {
		return known.reported, known.err
	}
	if known != nil {
		known.stop()
	}
	if c.ended {
		return false, context.Canceled
	}
	within, stop := context.WithCancel(c.ctx)
	next := &consumer{key: key, stop: stop, done: make(chan struct{})}
	c.of[name] = next
	c.wait.Go(func() {
		defer close(next.done)
		defer c.forget(name, next)
		if known != nil {
			<-known.done
		}
		run(within, func(err error) { c.report(name, next, err) })
	})
	return false, nil
}

// forget drops a source that has ended.
func (c *consumers) forget(name types.NamespacedName, of *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[name] == of {
		delete(c.of, name)
	}
}

// report records the state of a source, and has its Receiver reconciled if it has changed.
func (c *consumers) report(name types.NamespacedName, of *consumer, err error) {
	c.mu.Lock()
	same := of.reported && fmt.Sprint(of.err) == fmt.Sprint(err)
	of.reported, of.err = true, err
	c.mu.Unlock()
	if same {
		return
	}
	a := &v1alpha1.Receiver{}
	a.Namespace, a.Name = name.Namespace, name.Name
	select {
	case c.changed <- event.TypedGenericEvent[*v1alpha1.Receiver]{Object: a}:
	default: // the next look at the Receiver shows it
	}
}

// end ends the source of a Receiver. It remains known until it has ended, so that the next one waits
// for it.
func (c *consumers) end(name types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.of[name]; known != nil {
		known.stop()
		known.key = ""
	}
}
