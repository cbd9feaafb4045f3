package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Selection is what a watch sees: objects of a kind in a namespace ("" for all, or
// for kinds without), by labels or by name.
type Selection struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Labels    string
	Name      string
}

// Event is an object that was seen, or seen to go; or, when a watch was opened,
// all objects of its scope.
type Event struct {
	Object  *unstructured.Unstructured
	Deleted bool
	Listing *Listing
}

// Listing is what a scope held at a version of the cluster.
type Listing struct {
	Selection       Selection
	ResourceVersion string
	Objects         []unstructured.Unstructured
}

const (
	// watchFor is when the server ends a watch, which is then opened again.
	watchFor = 10 * time.Minute
	// The pause before a watch that ended at once, or was refused, is opened again.
	minPause, maxPause = 200 * time.Millisecond, 30 * time.Second
)

// Watch sends what happens to the objects of a scope until the context ends. It
// begins with a listing of what is there, and opens the watch again, with a
// listing, whenever it ends: what isn't listed any more went in between.
func (c *Client) Watch(ctx context.Context, s Selection, seen chan<- Event) {
	for pause := minPause; ctx.Err() == nil; {
		began := time.Now()
		// What went wrong is what the next try will tell by what it lists.
		_ = c.ListAndWatch(ctx, s, func(ev Event) bool { return send(ctx, seen, ev) })
		if time.Since(began) > maxPause {
			pause = minPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

// ListAndWatch lists the objects of a scope and watches them until the watch ends,
// which the server sees to every now and then, or until nobody wants to see
// more. The error says that there was no listing, or no watch; a
// [*NoKindError] that the cluster doesn't serve the kind.
func (c *Client) ListAndWatch(ctx context.Context, s Selection, see func(Event) bool) error {
	listing, err := c.List(ctx, s)
	if err != nil {
		return err
	}
	if !see(Event{Listing: listing}) {
		return nil
	}
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return err
	}
	options := s.options()
	options.ResourceVersion, options.TimeoutSeconds = listing.ResourceVersion, new(int64(watchFor/time.Second))
	options.AllowWatchBookmarks = true
	for {
		version, err := c.followOnce(ctx, kind, s, options, see)
		if err != nil || version == "" {
			return err
		}
		options.ResourceVersion = version
	}
}

// followOnce watches from a version on. It gives the version at which the
// server ended the watch in time, "" if it ended otherwise.
func (c *Client) followOnce(ctx context.Context, kind Kind, s Selection, options metav1.ListOptions, see func(Event) bool) (string, error) {
	began := time.Now()
	// A server that doesn't end the watch in time has forgotten it, or never answered.
	ctx, cancel := context.WithTimeout(ctx, watchFor+time.Minute)
	defer cancel()
	w, err := c.resource(kind, s.namespaceOf(kind)).Watch(ctx, options)
	if err != nil {
		return "", c.kindGone(s.GVK, err)
	}
	defer w.Stop()
	version := options.ResourceVersion
	for event := range w.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return "", nil // the version is too old, or the server goes: begin anew
		}
		version = obj.GetResourceVersion()
		if event.Type != watch.Bookmark && !see(Event{Object: obj, Deleted: event.Type == watch.Deleted}) {
			return "", nil
		}
	}
	if ctx.Err() != nil || time.Since(began) < watchFor-time.Minute {
		return "", nil
	}
	return version, nil
}

// List lists the objects of a scope.
func (c *Client) List(ctx context.Context, s Selection) (*Listing, error) {
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return nil, err
	}
	// A list that is cancelled makes client-go complain on standard error.
	items, version, err := c.listAll(context.WithoutCancel(ctx), kind, s.namespaceOf(kind), s.options())
	if err != nil {
		return nil, c.kindGone(s.GVK, err)
	}
	return &Listing{s, version, items}, nil
}

func (s Selection) namespaceOf(kind Kind) string {
	if !kind.Namespaced {
		return ""
	}
	return s.Namespace
}

func (s Selection) options() metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: s.Labels}
	if s.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	return options
}

// kindGone tells that the cluster doesn't serve a kind any more.
func (c *Client) kindGone(gvk schema.GroupVersionKind, err error) error {
	if apierrors.IsNotFound(err) && isKindGone(err) {
		c.kinds.Invalidate(gvk.GroupVersion())
		return &NoKindError{gvk}
	}
	return err
}

func send(ctx context.Context, seen chan<- Event, ev Event) bool {
	select {
	case seen <- ev:
		return true
	case <-ctx.Done():
		return false
	}
}
