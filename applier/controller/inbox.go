package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// inbox holds what other goroutines leave for a driver, until the driver's
// worker takes it. Everything that arrives wakes the driver.
type inbox struct {
	wake func()

	mu      sync.Mutex
	seen    seenGraph               // the graph as it was last seen
	version string                  // the resource version of seen
	latest  *v1alpha1.ResourceGraph // changed since mail was last taken, or nil
	posts   []func()
	stale   bool // seen is void
	deleted bool // the graph doesn't exist, or isn't executed by this process
	left    bool // the latter: another replica executes it
	closed  bool
}

// mail is the content of an inbox.
type mail struct {
	seen    seenGraph
	latest  *v1alpha1.ResourceGraph // nil if it didn't change
	deleted bool
	left    bool     // with deleted: another replica executes the graph
	posts   []func() // have to be called in order
}

// graphChanged delivers the newest state of the graph. It wakes the driver only
// if something changed that the driver acts on: its own writes don't count. Listed is
// set if the state is from a list: events may have been missed before it. It returns
// false if the inbox is closed.
func (i *inbox) graphChanged(rg *v1alpha1.ResourceGraph, listed bool) bool {
	rg.ManagedFields = nil // are large, and not used
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return false
	}
	seen := seenGraphOf(rg)
	if !listed && seen.uid == i.seen.uid && seen.generation == i.seen.generation {
		seen.spec = i.seen.spec
	} else {
		seen.spec = digestOf(&rg.Spec)
	}
	changed := i.deleted || i.stale || i.seen != seen
	i.seen, i.version, i.deleted, i.left, i.stale = seen, rg.ResourceVersion, false, false, false
	if changed {
		i.latest = rg
	}
	i.mu.Unlock()
	if changed {
		i.wake()
	}
	return true
}

// graphDeleted delivers that the graph doesn't exist any more.
func (i *inbox) graphDeleted() {
	i.mu.Lock()
	i.deleted, i.latest = true, nil
	i.mu.Unlock()
	i.wake()
}

// graphLeft delivers that another replica executes the graph from now on. A graph that doesn't
// exist any more has no other replica.
func (i *inbox) graphLeft() {
	i.mu.Lock()
	i.left = i.left || !i.deleted
	i.mu.Unlock()
	i.graphDeleted()
}

// uid returns the UID of the graph as it was last seen.
func (i *inbox) uid() types.UID {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen.uid
}

// hasSeenLater reports whether the graph was seen in a later version than the given
// one.
func (i *inbox) hasSeenLater(version string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return resourceversion.Older(version, i.version)
}

// outdate records that what was seen is void. The graph counts as changed when it is
// seen again.
func (i *inbox) outdate() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.latest, i.stale = nil, true
}

// post makes the worker call f in the driver's next step.
func (i *inbox) post(f func()) {
	i.mu.Lock()
	i.posts = append(i.posts, f)
	i.mu.Unlock()
	i.wake()
}

// take empties the inbox.
func (i *inbox) take() mail {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := mail{i.seen, i.latest, i.deleted, i.left, i.posts}
	i.latest, i.posts = nil, nil
	return m
}

// close closes the inbox of a deleted graph. It returns false if something
// arrived since mail was last taken, such as a new graph of the same name.
func (i *inbox) close() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = i.deleted && len(i.posts) == 0
	return i.closed
}
