package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/engine"
)

// Do carries out one action on an object. Record and Others are about
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
	switch a.Verb {
	case engine.Read:
		o.Object, o.Err = c.get(ctx, at)
	case engine.Apply:
		o = c.apply(ctx, at, a.Apply)
	case engine.Delete:
		if o.Err = c.delete(ctx, at, a.UID); o.Err == nil {
			o.Object, o.Err = c.get(ctx, at)
		}
	case engine.Release:
		if o.Err = c.release(ctx, at, a.UID, a.To); o.Err == nil {
			o.Object, o.Err = c.get(ctx, at)
		}
	}
	if errors.As(o.Err, &noKind) && a.Verb != engine.Apply {
		return engine.Outcome{}
	}
	if o.Err != nil {
		if isKindGone(o.Err) {
			c.kinds.Forget(at.gvk.GroupVersion())
		}
		o.Err = failure(o.Err)
		if a.Apply != nil {
			o.Err = hideValues(o.Err, a.Apply.Object)
		}
	}
	return o
}

// delete removes an object if it still is the one that was looked at. That it
// is gone already is success.
func (c *Client) delete(ctx context.Context, a address, uid types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	options := metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: new(c.propagation(a.gvk.GroupKind())),
	}
	if c.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	err := c.resource(a.kind, a.namespace).Delete(ctx, a.name, options)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Client) propagation(gk schema.GroupKind) metav1.DeletionPropagation {
	_, builtIn := graph.ClusterScoped(gk)
	switch {
	case c.Propagation != "":
		return metav1.DeletionPropagation(c.Propagation)
	case !builtIn, gk.Group == "apps", gk.Group == "batch":
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}
