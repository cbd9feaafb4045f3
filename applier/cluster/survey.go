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

const (
	// concurrency bounds the requests of one survey.
	concurrency = 8
	// fewObjects are read one by one; of more, a list tells which exist.
	fewObjects = 4
	// page is how many objects one request lists.
	page = 500
)

// place is where objects of a kind are listed.
type place struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// survey reads the targets. Those that are the graph's, or that one list can
// find, are read by a list for each kind and namespace, the rest one by one.
func (c *Client) survey(ctx context.Context, selector string, targets []engine.Target) engine.Outcome {
	places := map[place][]engine.Target{}
	for _, t := range targets {
		p := place{schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind}, t.Namespace}
		places[p] = append(places[p], t)
	}
	var (
		mu  sync.Mutex
		out = engine.Outcome{Unreadable: map[inventory.Key]error{}}
		g   errgroup.Group
	)
	g.SetLimit(concurrency)
	for p, wanted := range places {
		g.Go(func() error {
			found, unseen, err := c.surveyPlace(ctx, p, selector, wanted)
			mu.Lock()
			defer mu.Unlock()
			out.Objects = append(out.Objects, found...)
			for key, why := range unseen {
				out.Unreadable[key] = why
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return engine.Outcome{Err: failure(err)}
	}
	return out
}

// surveyPlace reads the targets of one kind and namespace. The error is one
// that is the same for all of them.
func (c *Client) surveyPlace(ctx context.Context, p place, selector string, wanted []engine.Target) ([]*unstructured.Unstructured, map[inventory.Key]error, error) {
	kind, err := c.kinds.Find(ctx, p.gvk)
	var noKind *NoKindError
	if errors.As(err, &noKind) {
		return nil, nil, nil // its definition may be of this graph
	}
	if err != nil {
		return nil, nil, err
	}
	namespace := p.namespace
	if !kind.Namespaced {
		namespace = ""
	}
	s := &surveyor{c: c, kind: kind, gvk: p.gvk, namespace: namespace, seen: map[string]bool{}}
	if slices.Contains(kind.Verbs, "list") {
		if err := s.list(ctx, selector); err != nil && !apierrors.IsForbidden(err) {
			return nil, nil, err
		}
	}
	unseen := s.readRest(ctx, wanted)
	return s.found, unseen, nil
}

// surveyor collects what is found of one kind in one namespace.
type surveyor struct {
	c         *Client
	kind      Kind
	gvk       schema.GroupVersionKind
	namespace string
	found     []*unstructured.Unstructured
	seen      map[string]bool
}

// list finds everything that carries the graph's labels.
func (s *surveyor) list(ctx context.Context, selector string) error {
	items, _, err := s.c.listAll(ctx, s.kind, s.namespace, metav1.ListOptions{LabelSelector: selector})
	for i := range items {
		s.add(&items[i])
	}
	return err
}

func (s *surveyor) add(obj *unstructured.Unstructured) {
	s.seen[obj.GetName()] = true
	s.found = append(s.found, obj)
}

// readRest reads the targets that aren't among what carries the labels: mostly
// they don't exist, and where they are many, one list of names says so.
func (s *surveyor) readRest(ctx context.Context, wanted []engine.Target) map[inventory.Key]error {
	var rest []engine.Target
	for _, t := range wanted {
		if !s.seen[t.Name] {
			rest = append(rest, t)
		}
	}
	if len(rest) > fewObjects && slices.Contains(s.kind.Verbs, "list") {
		if names, ok := s.names(ctx); ok {
			rest = slices.DeleteFunc(rest, func(t engine.Target) bool { return !names[t.Name] })
		}
	}
	unseen := map[inventory.Key]error{}
	for _, t := range rest {
		obj, err := s.c.get(ctx, address{gvk: s.gvk, kind: s.kind, namespace: s.namespace, name: t.Name})
		var noKind *NoKindError
		switch {
		case errors.As(err, &noKind):
		case err != nil:
			unseen[t.Key] = failure(err)
		case obj != nil:
			s.add(obj)
		}
	}
	return unseen
}

// names lists the names of all objects, if they fit in a page.
func (s *surveyor) names(ctx context.Context) (map[string]bool, bool) {
	list, err := s.c.listMetadata(ctx, s.kind, s.namespace, page)
	if err != nil || list.Continue != "" {
		return nil, false // one by one then
	}
	names := make(map[string]bool, len(list.Items))
	for _, item := range list.Items {
		names[item.Name] = true
	}
	return names, true
}
