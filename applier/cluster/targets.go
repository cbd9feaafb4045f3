package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// maxSingleReads is how many objects are read with one request each. If more
// might exist, their names are listed first.
const maxSingleReads = 4

// collection is the objects of a kind in a namespace, as a graph names them: the
// namespace may be set although the kind is cluster-scoped.
type collection struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// readTargets reads the current state of a graph's targets with as few requests
// as possible: one list by the graph's labels for each kind and namespace, and
// further requests only for targets that don't have the labels.
//
// The outcome has the objects that exist. Targets that couldn't be read are in
// Unreadable with the error. If some kinds can be read and others can't, the targets of
// the latter are unreadable, too, so that they don't block the others.
func (c *Client) readTargets(ctx context.Context, selector string, targets []engine.Target) engine.Outcome {
	collections := map[collection][]engine.Target{}
	for _, t := range targets {
		col := collection{schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}, t.Namespace}
		collections[col] = append(collections[col], t)
	}
	var (
		mu  sync.Mutex
		out = engine.Outcome{Unreadable: map[inventory.Key]error{}}
		g   errgroup.Group
	)
	g.SetLimit(concurrency)
	read := 0
	for col, wanted := range collections {
		g.Go(func() error {
			found, unreadable, err := c.readCollection(ctx, col, selector, wanted)
			mu.Lock()
			defer mu.Unlock()
			out.Objects = append(out.Objects, found...)
			for key, why := range unreadable {
				out.Unreadable[key] = why
			}
			switch {
			case err == nil:
				read++
				return nil
			case !ConcernsKind(err):
				return err
			}
			out.Unlisted = Classify(err)
			for _, t := range wanted {
				out.Unreadable[t.Key] = out.Unlisted
			}
			return nil
		})
	}
	err := g.Wait()
	if err == nil && read == 0 {
		err = out.Unlisted // it is probably not about the kinds
	}
	if err != nil {
		return engine.Outcome{Err: Classify(err)}
	}
	return out
}

// readCollection reads the targets of one kind and namespace. It returns the
// objects that exist and the errors of single targets. The last result is an
// error that concerns all of them.
func (c *Client) readCollection(ctx context.Context, col collection, selector string, wanted []engine.Target) ([]*unstructured.Unstructured, map[inventory.Key]error, error) {
	kind, err := c.kinds.Find(ctx, col.gvk)
	var noKind *NoKindError
	if errors.As(err, &noKind) {
		// The CustomResourceDefinition of a node's object may be a node of this graph.
		// Objects that left the graph may be served in another version, and are read
		// one by one later.
		unreadable := map[inventory.Key]error{}
		for _, t := range wanted {
			if t.Left {
				unreadable[t.Key] = Classify(noKind)
			}
		}
		return nil, unreadable, nil
	}
	if err != nil {
		return nil, nil, err
	}
	namespace := col.namespace
	switch {
	case !kind.Namespaced:
		namespace = ""
	case namespace == "":
		return nil, nil, nil // see errNoNamespace
	}
	r := &collectionReader{client: c, kind: kind, gvk: col.gvk, namespace: namespace, names: map[string]bool{}, unreadable: map[inventory.Key]error{}}
	if r.canList() {
		// Without the right to list, every target is read by itself.
		if err := r.readLabelled(ctx, selector); err != nil && !apierrors.IsForbidden(err) {
			return nil, nil, err
		}
	}
	r.readRest(ctx, wanted)
	return r.found, r.unreadable, nil
}

// collectionReader collects the objects of one kind in one namespace.
type collectionReader struct {
	client    *Client
	kind      Kind
	gvk       schema.GroupVersionKind
	namespace string // "" for a cluster-scoped kind

	mu         sync.Mutex // of what follows, while targets are read one by one
	found      []*unstructured.Unstructured
	names      map[string]bool // the names of found
	unreadable map[inventory.Key]error
	forbidden  int // how many of unreadable the identity may not read
}

// canList reports whether the kind can be listed at all. The identity may still
// lack the right to do so.
func (r *collectionReader) canList() bool { return slices.Contains(r.kind.Verbs, "list") }

// add records an object that exists.
func (r *collectionReader) add(obj *unstructured.Unstructured) {
	r.names[obj.GetName()] = true
	r.found = append(r.found, obj)
}

// readLabelled lists the objects that carry the graph's labels.
func (r *collectionReader) readLabelled(ctx context.Context, selector string) error {
	items, _, err := r.client.listAll(ctx, r.kind, r.namespace, metav1.ListOptions{LabelSelector: selector}, nil)
	for i := range items {
		r.add(&items[i])
	}
	return err
}

// readRest reads the targets that weren't found by their labels. Most of these targets
// don't exist. If there are many, a list of names rules out those that don't.
func (r *collectionReader) readRest(ctx context.Context, wanted []engine.Target) {
	var rest []engine.Target
	for _, t := range wanted {
		if !r.names[t.Name] {
			rest = append(rest, t)
		}
	}
	if len(rest) > maxSingleReads && r.canList() {
		if existing, ok := r.existingNames(ctx, 1+len(rest)/readsOfPage); ok {
			rest = slices.DeleteFunc(rest, func(t engine.Target) bool { return !existing[t.Name] })
		}
	}
	var g errgroup.Group
	g.SetLimit(concurrency)
	for i, t := range rest {
		if i == maxForbidden {
			_ = g.Wait() // the first ones show whether the others are tried
		}
		g.Go(func() error { r.read(ctx, t); return nil })
	}
	_ = g.Wait() // the errors are in r.unreadable
}

// read reads a target by its name.
func (r *collectionReader) read(ctx context.Context, t engine.Target) {
	r.mu.Lock()
	tried := r.forbidden < maxForbidden
	if !tried {
		r.unreadable[t.Key] = errNotTried
	}
	r.mu.Unlock()
	if !tried {
		return
	}
	obj, err := r.client.get(ctx, address{gvk: r.gvk, kind: r.kind, namespace: r.namespace, name: t.Name})
	r.mu.Lock()
	defer r.mu.Unlock()
	var noKind *NoKindError
	switch {
	case errors.As(err, &noKind):
	case err != nil:
		r.unreadable[t.Key] = Classify(err)
		if apierrors.IsForbidden(err) {
			r.forbidden++
		}
	case obj != nil:
		r.add(obj)
	}
}

// readsOfPage is the number of reads of single objects that cost an API server about as much
// as a page of metadata.
const readsOfPage = 20

// maxForbidden is the number of targets of a collection that the identity may not
// read after which the others aren't tried. The engine reads them when it needs them.
const maxForbidden = 2

// errNotTried is the error of targets that weren't tried.
var errNotTried = &engine.Failure{
	Reason: engine.ReasonForbidden, Terminal: true, Message: "other objects of the kind can't be read",
}

// existingNames returns the names of all objects of the collection, and false if
// they don't fit in the pages or can't be listed.
func (r *collectionReader) existingNames(ctx context.Context, pages int) (map[string]bool, bool) {
	names, next := map[string]bool{}, ""
	for range pages {
		list, err := r.client.listMetadata(ctx, r.kind, r.namespace, next)
		if err != nil {
			return nil, false
		}
		for _, item := range list.Items {
			names[item.Name] = true
		}
		if next = list.Continue; next == "" {
			return names, true
		}
	}
	return nil, false
}
