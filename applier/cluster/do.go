package cluster

import (
	"context"
	"errors"

	"github.com/pequod-io/pequod/applier/engine"
)

// Do carries out one action on an object. Owner selects the labels of the graph:
// what is to be deleted or released must still have them. Record and Others are about
// inventories, which are their store's; Explain is that of package cause.
func (c *Client) Do(ctx context.Context, owner string, a engine.Action) engine.Outcome {
	if a.Verb == engine.Survey {
		return c.survey(ctx, owner, a.Targets)
	}
	at, err := c.find(ctx, a.Key, a.Version)
	var noKind *NoKindError
	if errors.As(err, &noKind) && a.Verb != engine.Apply {
		// Of a kind that there isn't, there is no object.
		return engine.Outcome{}
	}
	if err != nil {
		return engine.Outcome{Err: failure(err)}
	}
	var o engine.Outcome
	was := claim{a.UID, a.ResourceVersion, owner}
	switch a.Verb {
	case engine.Read:
		o.Object, o.Err = c.get(ctx, at)
	case engine.Apply:
		o = c.apply(ctx, at, a.Apply)
	case engine.Compare:
		o.Taken, o.Err = c.compare(ctx, at, a.Apply)
	case engine.Delete:
		o.Object, o.Err = c.delete(ctx, at, was)
	case engine.Release:
		if o.Err = c.release(ctx, at, was, a.NewOwner); o.Err == nil {
			o.Object, o.Err = c.get(ctx, at)
		}
	}
	if errors.As(o.Err, &noKind) && a.Verb != engine.Apply {
		return engine.Outcome{}
	}
	if o.Err != nil {
		if isKindGone(o.Err) {
			c.kinds.Invalidate(at.gvk.GroupVersion())
		}
		o.Err = failure(o.Err)
		if a.Apply != nil {
			o.Err = hideValues(o.Err, a.Apply.Object)
		}
	}
	return o
}
