package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is either a change of one object or, when a watch starts, a listing of
// all objects of its selection. Objects that the receiver knows and that aren't
// in the listing were deleted while no watch was open.
type Event struct {
	// Object is the object after the change, or its last state if it was
	// deleted. It is nil in an event with a listing.
	Object *unstructured.Unstructured
	// Deleted is set if Object was deleted.
	Deleted bool
	// Listing is nil in an event about one object.
	Listing *Listing
}

// The API server ends watches after a random 30 to 60 minutes unless a
// watch requests its own timeout. A known timeout makes a lost connection evident.
const (
	// watchTimeout is the lifetime of a watch that is requested from the server.
	watchTimeout = 10 * time.Minute
	// The backoff between watches that end early or are refused begins at
	// minPause and doubles up to maxPause.
	maxPause = 30 * time.Second
	// reopenTimeout is how soon a watch has to be open to continue where the one
	// before it has ended.
	reopenTimeout = 5 * time.Second
)

// Watch sends the events of a selection until ctx is done. It lists the objects
// first, and lists them again whenever the watch has to be started over.
func (c *Client) Watch(ctx context.Context, s Selection, events chan<- Event) {
	for pause := minPause; ctx.Err() == nil; {
		began := time.Now()
		// The error needs no report: the next listing shows the receiver
		// everything that it missed.
		_ = c.ListAndWatch(ctx, s, nil, func(ev Event) bool { return send(ctx, events, ev) })
		if time.Since(began) > maxPause {
			pause = minPause // the watch worked for a while
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

// ListAndWatch lists the objects of a selection and watches them from then on. It
// calls handle for the listing and for every change, from the same goroutine, and
// returns when handle returns false or when the watch has to be started over. Keep
// selects the objects of the listing that aren't dropped, nil means all.
//
// The error says why there was no list or no watch. It is a [*NoKindError] if the
// cluster doesn't serve the kind, and nil if a watch was open and ended.
func (c *Client) ListAndWatch(ctx context.Context, s Selection, keep func(*unstructured.Unstructured) bool, handle func(Event) bool) error {
	listing, err := c.list(ctx, s, keep)
	if err != nil {
		return err
	}
	if !handle(Event{Listing: listing}) {
		return nil
	}
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return err
	}
	options := s.listOptions()
	options.ResourceVersion, options.TimeoutSeconds = listing.ResourceVersion, new(int64(watchTimeout/time.Second))
	// Bookmarks advance the version in quiet times, so that the next watch doesn't
	// start from a version that etcd has compacted.
	options.AllowWatchBookmarks = true
	for within := requestTimeout; ; within = reopenTimeout {
		version, err := c.watchOnce(ctx, kind, s, options, within, handle)
		if err != nil || version == "" {
			return err
		}
		options.ResourceVersion = version
	}
}

// watchOnce opens one watch and calls handle for its events. It returns the last
// resource version if the server ended the watch at its timeout, so that the next
// watch can continue there. It returns "" if the watch ended for another reason
// and the objects have to be listed again. That is also so if the watch wasn't open
// within the given time: the API server may have been away, and etcd restored. It
// accepts versions that don't exist yet, and would be silent until they do.
func (c *Client) watchOnce(ctx context.Context, kind Kind, s Selection, options metav1.ListOptions, within time.Duration, handle func(Event) bool) (string, error) {
	began := time.Now()
	// A server that doesn't end the watch in time is unreachable or has lost it.
	ctx, cancel := context.WithTimeout(ctx, watchTimeout+time.Minute)
	defer cancel()
	w, err := c.resource(kind, s.namespaceFor(kind)).Watch(ctx, options)
	if err != nil {
		return "", c.kindError(s.GVK, err)
	}
	defer w.Stop()
	if time.Since(began) > within {
		return "", nil
	}
	version := options.ResourceVersion
	for event := range w.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return "", nil // the version is too old, or the server shuts down
		}
		version = obj.GetResourceVersion()
		if event.Type != watch.Bookmark && !handle(Event{Object: obj, Deleted: event.Type == watch.Deleted}) {
			return "", nil
		}
	}
	if ctx.Err() != nil || time.Since(began) < watchTimeout-time.Minute {
		return "", nil
	}
	return version, nil
}

// send sends an event and reports whether it was sent before ctx was done.
func send(ctx context.Context, events chan<- Event, ev Event) bool {
	select {
	case events <- ev:
		return true
	case <-ctx.Done():
		return false
	}
}
