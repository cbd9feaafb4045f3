// Package execute carries out the actions that package engine requests.
//
// [Executor.Do] is the one place that maps a verb to the request that it
// stands for. Every driver of an engine uses it: apply, delete, plan and status
// in package applier, and the controller. The drivers differ in how they write,
// where they keep inventories, and how they learn what other graphs list; these
// parts are fields of the Executor.
//
// The package doesn't schedule anything: the driver decides how many actions are
// in flight, and returns each outcome to its engine.
package execute

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cause"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/inventory"
)

// Executor carries out the actions of one engine. The functions must be safe for
// concurrent use, like [Executor.Do] itself.
//
// The zero value of a function is the safe one: an Executor with only a Client
// and an Owner reads objects and explains why they aren't ready, and fails every
// other action.
type Executor struct {
	// Client sends requests for objects, with the identity of the graph.
	Client *cluster.Client
	// Owner is the graph of the engine. Only its objects are deleted or released.
	Owner inventory.Owner

	// Read carries out Survey, Discover, Read and Compare. Nil means [Executor.Send].
	Read func(context.Context, engine.Action) engine.Outcome
	// Write carries out Apply, Delete and Release. A driver that has nothing to
	// add to the request sets it to [Executor.Send]. Nil refuses them.
	Write func(context.Context, engine.Action) engine.Outcome
	// Record stores the inventory, or removes the record if the inventory is
	// complete and has no entries. It gets a copy that it may change: the engine
	// continues with it. Nil refuses the action.
	Record func(context.Context, *inventory.Inventory) error
	// Claims returns the objects that other graphs list. Nil refuses the action.
	Claims func(context.Context) (inventory.Claims, error)
	// Explain returns why an object isn't ready. Nil means [cause.Find].
	Explain func(context.Context, *unstructured.Unstructured) (readiness.Verdict, error)
}

// Do carries out one action and returns its outcome. It blocks until the request
// is answered.
//
// A driver that answers a verb without a request of its own handles it before
// it calls Do. The controller does so for surveys and claims, which
// it shares between graphs, and for the record, which it writes together with
// the status of the graph.
func (x *Executor) Do(ctx context.Context, a engine.Action) engine.Outcome {
	switch a.Verb {
	case engine.Survey, engine.Discover, engine.Read, engine.Compare:
		if x.Read != nil {
			return x.Read(ctx, a)
		}
		return x.Send(ctx, a)
	case engine.Apply, engine.Delete, engine.Release:
		if x.Write != nil {
			return x.Write(ctx, a)
		}
	case engine.Record:
		if x.Record != nil {
			inv := *a.Inventory
			err := x.Record(ctx, &inv)
			return engine.Outcome{Saved: &inv, Err: err}
		}
	case engine.LoadClaims:
		if x.Claims != nil {
			claims, err := x.Claims(ctx)
			return engine.Outcome{Claims: claims, Err: err}
		}
	case engine.Explain:
		found, err := x.explain(ctx, a.Object)
		return engine.Outcome{Found: found, Err: err}
	}
	return engine.Outcome{Err: fmt.Errorf("%s of %s isn't supported in this mode", a.Verb, a.Key)}
}

// Send sends an action on objects (Survey, Discover, Read, Compare, Apply, Delete
// or Release) to the cluster.
func (x *Executor) Send(ctx context.Context, a engine.Action) engine.Outcome {
	o := x.Client.Do(ctx, x.Owner.Selector(), a)
	if !a.Search || o.Err != nil {
		return o
	}
	found, missed, err := x.Client.FindByLabels(ctx, x.Owner.Selector(), x.Owner.Namespace, a.Groups...)
	if err != nil {
		return engine.Outcome{Err: cluster.Classify(err)}
	}
	o.Objects, o.Unsearched = append(o.Objects, found...), missed
	return o
}

func (x *Executor) explain(ctx context.Context, object *unstructured.Unstructured) (readiness.Verdict, error) {
	if x.Explain != nil {
		return x.Explain(ctx, object)
	}
	return cause.Find(ctx, x.Client, object, time.Now())
}
