package sink

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The times between two attempts to use a database that is away.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// circuit keeps objects from using a database that is away, one by one. After a failure, all objects
// wait, and one of them at a time tries again after a pause that doubles. As soon as one succeeds,
// all others are queued. It is shared by the tables.
type circuit struct {
	// after calls a function later. It is time.AfterFunc, except in tests.
	after func(time.Duration, func())

	mu sync.Mutex
	// open is set while the database is away.
	open bool
	// pausing is set until the pause has passed, and probe is the object that tries after it.
	pausing bool
	probe   *waiter
	pause   time.Duration
	// waiting are the objects in their order, without duplicates.
	waiting []waiter
	known   map[waiter]bool
}

// waiter is an object that waits for the database.
type waiter struct {
	queue requests
	of    types.NamespacedName
}

// requests is where the objects of a table are queued. Its values are pointers.
type requests interface{ enqueue(types.NamespacedName) }

// newCircuit returns a circuit for a database that isn't known to be away.
func newCircuit() *circuit {
	return &circuit{after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }, pause: firstPause, known: map[waiter]bool{}}
}

// admit reports whether an object may use the database. If not, it is queued later.
func (c *circuit) admit(w waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || c.probe != nil && *c.probe == w {
		return true
	}
	c.park(w)
	return false
}

// park has an object wait. The mutex is held.
func (c *circuit) park(w waiter) {
	if !c.known[w] {
		c.known[w] = true
		c.waiting = append(c.waiting, w)
	}
}

// failed records that the database is away. The object is queued later.
func (c *circuit) failed(w waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.park(w)
	if c.probe != nil && *c.probe == w {
		c.probe = nil
	}
	c.open = true
	if c.pausing || c.probe != nil {
		return
	}
	c.pausing = true
	c.after(c.pause, c.release)
	c.pause = min(2*c.pause, lastPause)
}

// succeeded records that the database is there, and queues all objects that wait.
func (c *circuit) succeeded() {
	c.mu.Lock()
	c.open, c.probe, c.pause = false, nil, firstPause
	waiting := c.waiting
	c.waiting = nil
	clear(c.known)
	c.mu.Unlock()
	for _, w := range waiting {
		w.queue.enqueue(w.of)
	}
}

// unused records that an object had nothing to store. If it was to try, the next one does.
func (c *circuit) unused(w waiter) {
	c.mu.Lock()
	mine := c.probe != nil && *c.probe == w
	c.mu.Unlock()
	if mine {
		c.release()
	}
}

// release has the object that waits longest try. If none waits, the next one that comes tries.
func (c *circuit) release() {
	c.mu.Lock()
	c.pausing, c.probe = false, nil
	if len(c.waiting) == 0 {
		c.open = false
		c.mu.Unlock()
		return
	}
	w := c.waiting[0]
	c.waiting = c.waiting[1:]
	delete(c.known, w)
	if c.open {
		c.probe = &w
	}
	c.mu.Unlock()
	w.queue.enqueue(w.of)
}
