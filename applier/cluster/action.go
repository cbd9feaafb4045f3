package cluster

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
)

// Do executes one action on the cluster. owner is the label selector of the graph:
// an object that is to be deleted or released must still match it.
//
// Do handles Survey, Discover, Read, Apply, Compare, Delete and Release. The other verbs
// don't concern single objects: inventories are the business of their store, and
// package cause explains why an object isn't ready.
//
// If the cluster doesn't serve the kind, Read, Compare and Delete of the object of a
// node succeed without an object: it doesn't exist. Apply and Discover fail, because
// the kind may be served later. An object that left the graph is looked up in the
// other versions of its kind. If there are none, the action fails, because it can't be
// known whether the object exists.
//
// If the scope of the kind isn't that of the key, the definition of the kind was deleted
// and created again, with the other scope. The objects of nodes then need other keys.
func (c *Client) Do(ctx context.Context, owner string, a engine.Action) engine.Outcome {
	switch a.Verb {
	case engine.Survey:
		return c.readTargets(ctx, owner, a.Targets)
	case engine.Discover:
		return c.discover(ctx, schema.GroupVersionKind{Group: a.Key.Group, Version: a.Version, Kind: a.Key.Kind})
	}
	left := a.Node == ""
	resolve := c.resolve
	if left {
		resolve = c.resolveServed
	}
	at, err := resolve(ctx, a.Key, a.Version)
	var noKind *NoKindError
	switch rescoped := errors.Is(err, errNoNamespace) || err == nil && at.namespace != a.Key.Namespace; {
	case rescoped && !left:
		return engine.Outcome{Err: errScope}
	case errors.Is(err, errNoNamespace), errors.As(err, &noKind) && a.Verb != engine.Apply && !left:
		return engine.Outcome{}
	case err != nil:
		return engine.Outcome{Err: Classify(err)}
	}
	o := c.doObject(ctx, at, observed{a.UID, a.ResourceVersion, owner, a.Kept}, a)
	if left && (errors.As(o.Err, &noKind) || isPathNotServed(o.Err)) {
		// The version was served when the kind was discovered.
		c.kinds.Invalidate(at.gvk.GroupVersion())
		at, err = resolve(ctx, a.Key, a.Version)
		switch {
		case errors.Is(err, errNoNamespace):
			return engine.Outcome{}
		case err != nil:
			return engine.Outcome{Err: Classify(err)}
		}
		o = c.doObject(ctx, at, observed{a.UID, a.ResourceVersion, owner, a.Kept}, a)
	}
	if errors.As(o.Err, &noKind) && a.Verb != engine.Apply && !left {
		return engine.Outcome{}
	}
	if o.Err != nil {
		if isPathNotServed(o.Err) {
			c.kinds.Invalidate(at.gvk.GroupVersion())
		}
		o.Err = Classify(o.Err)
		if a.Apply != nil {
			o.Err = redactSecret(o.Err, a.Apply.Object)
		}
	}
	return o
}

// discover looks up the scope of a kind.
func (c *Client) discover(ctx context.Context, gvk schema.GroupVersionKind) engine.Outcome {
	kind, err := c.kinds.Find(ctx, gvk)
	if err != nil {
		return engine.Outcome{Err: Classify(err)}
	}
	return engine.Outcome{Namespaced: kind.Namespaced}
}

// doObject executes an action on the object at an address. The error of the
// outcome isn't classified yet.
func (c *Client) doObject(ctx context.Context, at address, observed observed, a engine.Action) (o engine.Outcome) {
	switch a.Verb {
	case engine.Read:
		o.Object, o.Err = c.get(ctx, at)
	case engine.Apply:
		o = c.apply(ctx, at, a.Apply)
	case engine.Compare:
		o.Taken, o.Err = c.compare(ctx, at, a.Apply)
	case engine.Delete:
		if o.Err = c.checkRecreation(ctx, at, a.Apply); o.Err == nil {
			o.Err = c.removeOrAssume(at, func() (err error) {
				o.Object, err = c.delete(ctx, at, observed)
				return err
			})
		}
	case engine.Release:
		o.Err = c.removeOrAssume(at, func() error { return c.release(ctx, at, observed, a.NewOwner) })
		if o.Err == nil {
			o.Object, o.Err = c.get(ctx, at)
		}
	}
	return o
}
