package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// run drives one engine until it is completed, stuck, or out of time. Its loop is
// the only goroutine that uses the engine; actions run on goroutines of their own.
type run struct {
	*Applier
	engine  *engine.Engine
	options Options
	execute execute.Executor
	watches *watches
	guard   guard
	// slots limits the requests in flight.
	slots chan struct{}
	done  chan answer
	// events come from watches.
	events chan cluster.Event
	// inFlight counts the actions whose answers weren't received.
	inFlight int
}

// run executes an engine. The result is never nil; it describes an interrupted run
// as well.
func (a *Applier) run(ctx context.Context, e *engine.Engine, o Options) (*Result, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, ErrTimeout)
		defer cancel()
	}
	r := &run{
		Applier: a, engine: e, options: o,
		guard: guard{revision: e.Inventory().Revision, checked: a.now()},
		slots: make(chan struct{}, a.concurrency()), done: make(chan answer, a.concurrency()),
		events: make(chan cluster.Event, 64),
	}
	r.execute = execute.Executor{Client: a.Client, Owner: e.Owner(), Write: r.write, Record: r.record, Claims: r.loadClaims}
	r.watches = newWatches(a.Client, e.Owner(), r.events)
	phase, err := r.loop(ctx)
	if err != nil {
		err = errors.Join(err, r.shutDown(ctx, errors.Is(err, ErrSuperseded)))
	}
	outputs, outputErrors := e.Outputs()
	return &Result{
		Phase: phase, Statuses: e.Statuses(), Outputs: outputs, OutputErrors: outputErrors,
		RequestError: r.requestError(ctx, err),
	}, err
}

// loop steps the engine until it ends. When ctx is done, it starts no more
// actions; requests in flight are completed by [run.shutDown].
func (r *run) loop(ctx context.Context) (engine.Phase, error) {
	watching, stopWatches := context.WithCancel(ctx)
	defer stopWatches()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		step := r.engine.Step(r.now())
		r.report(step.Changes)
		r.start(ctx, step.Actions)
		// A stuck graph may still have requests in flight, whose outcomes are wanted in
		// the statuses and in the inventory.
		if step.Phase == engine.Completed || step.Phase == engine.Stuck && r.inFlight == 0 {
			return step.Phase, r.engine.Err()
		}
		if !r.options.Wait && r.inFlight == 0 && r.applied() {
			return step.Phase, r.shutDown(ctx, false)
		}
		// Each step may wait for more objects.
		r.watches.startAwaited(watching, r.engine)
		if !step.Wake.IsZero() {
			timer.Reset(max(0, step.Wake.Sub(r.now())))
		} else {
			timer.Stop()
		}
		if err := r.await(ctx, timer); err != nil {
			return step.Phase, err
		}
	}
}

// await blocks until anything happens, and passes everything that has happened to
// the engine.
func (r *run) await(ctx context.Context, timer *time.Timer) error {
	select {
	case a := <-r.done:
		if err := r.receive(ctx, a); err != nil {
			return err
		}
	case ev := <-r.events:
		r.observe(ev)
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// A step evaluates the whole graph, so drain both channels before the next one.
	for {
		select {
		case a := <-r.done:
			if err := r.receive(ctx, a); err != nil {
				return err
			}
		case ev := <-r.events:
			r.observe(ev)
		default:
			return nil
		}
	}
}

// observe passes an event of a watch to the engine.
func (r *run) observe(ev cluster.Event) {
	switch {
	case ev.Listing != nil:
		s := ev.Listing.Selection
		r.engine.ObserveAll(s.GVK.GroupKind(), s.Namespace, s.Name, ev.Listing.ResourceVersion, ev.Listing.Objects)
	case ev.Deleted:
		r.engine.ObserveGone(ev.Object)
	default:
		r.engine.Observe(ev.Object)
	}
}

// receive passes an answer to the engine. If another run saved the inventory in
// the meantime, the run ends with [ErrSuperseded], unless both apply the same
// revision.
func (r *run) receive(ctx context.Context, a answer) error {
	r.inFlight--
	if a.unsent {
		return context.Cause(ctx)
	}
	if errors.Is(a.outcome.Err, ErrSuperseded) {
		return fmt.Errorf("graph %s: %w", r.engine.Owner(), ErrSuperseded)
	}
	var conflict *configmap.ConflictError
	if a.action.Verb == engine.Record && errors.As(a.outcome.Err, &conflict) {
		stored, err := r.load(context.WithoutCancel(ctx), r.engine.Owner())
		switch {
		case err != nil:
			return err
		case stored.Revision != a.action.Inventory.Revision && stored.Revision != "":
			return fmt.Errorf("graph %s: %w", r.engine.Owner(), ErrSuperseded)
		}
		r.engine.Rebase(stored)
	}
	r.engine.Done(a.action, a.outcome)
	return nil
}

// report sends changed statuses to Options.Report.
func (r *run) report(changes []engine.Status) {
	if r.options.Report == nil {
		return
	}
	now := r.now()
	for _, status := range changes {
		r.options.Report(Event{now, status})
	}
}

// start executes actions on new goroutines, as soon as slots are free. An action that has
// begun isn't canceled with ctx: an interrupted write may or may not have been executed.
// The polls of one watch are answered together.
func (r *run) start(ctx context.Context, actions []engine.Action) {
	r.inFlight += len(actions)
	polls := map[cluster.Selection][]engine.Action{}
	for _, a := range actions {
		if a.Polled {
			s := r.watches.selection(engine.Target{Key: a.Key, Version: a.Version, Labeled: true})
			polls[s] = append(polls[s], a)
			continue
		}
		go r.send(ctx, a)
	}
	for s, reads := range polls {
		go r.poll(ctx, s, reads)
	}
}

// send executes an action and sends its answer.
func (r *run) send(ctx context.Context, a engine.Action) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		r.done <- answer{action: a, unsent: true}
		return
	}
	r.done <- answer{action: a, outcome: r.execute.Do(context.WithoutCancel(ctx), a)}
}

// poll answers Reads of the objects of a selection with one list. An object that left the
// graph is being deleted, and gone if it isn't listed. What the list doesn't tell is read
// alone: all objects if the account may not list them, and those of nodes that have lost
// their labels. If the API server can't answer now, it isn't asked for each object instead.
func (r *run) poll(ctx context.Context, s cluster.Selection, reads []engine.Action) {
	if len(reads) == 1 {
		r.send(ctx, reads[0])
		return
	}
	found, listed := map[string]*unstructured.Unstructured{}, false
	select {
	case r.slots <- struct{}{}:
		listing, err := r.Client.List(ctx, s)
		<-r.slots
		if listed = err == nil; listed {
			for i := range listing.Objects {
				found[listing.Objects[i].GetName()] = &listing.Objects[i]
			}
		} else if f := cluster.Classify(err); !f.Terminal && f.Reason != engine.ReasonUnknownKind {
			for _, a := range reads {
				r.done <- answer{action: a, outcome: engine.Outcome{Err: f}}
			}
			return
		}
	case <-ctx.Done():
	}
	for _, a := range reads {
		switch obj := found[a.Key.Name]; {
		case obj != nil && engine.KeyOf(obj) == a.Key:
			r.done <- answer{action: a, outcome: engine.Outcome{Object: obj}}
		case obj == nil && listed && a.Node == "":
			r.done <- answer{action: a}
		default:
			go r.send(ctx, a)
		}
	}
}

// write sends an action that changes the cluster, unless another run has
// superseded this one, or the action hands an object over to a graph that proves no
// claim.
func (r *run) write(ctx context.Context, a engine.Action) engine.Outcome {
	if err := r.guard.check(ctx, r.Applier, r.engine.Owner()); err != nil {
		return engine.Outcome{Err: err}
	}
	if a.NewOwner != nil {
		if err := r.checkClaim(ctx, a, r.engine.Owner(), r.options.Siblings); err != nil {
			return engine.Outcome{Err: err}
		}
	}
	return r.execute.Send(ctx, a)
}

// record saves the inventory, or removes it when the graph owns nothing any more.
func (r *run) record(ctx context.Context, inv *inventory.Inventory) error {
	var err error
	if len(inv.Entries) == 0 && inv.Complete {
		err = r.Inventories.Remove(ctx, inv)
	} else {
		err = r.Inventories.Save(ctx, inv)
	}
	if err == nil {
		r.guard.confirm(r.now())
	}
	return recordError(inv, err)
}

// recordError names the inventory in a terminal error, because that error ends the
// run. A conflict is returned unchanged for [run.receive].
func recordError(inv *inventory.Inventory, err error) error {
	var conflict *configmap.ConflictError
	if err == nil || errors.As(err, &conflict) {
		return err
	}
	f := cluster.Classify(err)
	if !f.Terminal {
		return err
	}
	return fmt.Errorf("inventory of %s: %w", inv.Owner, f)
}

// loadClaims returns the objects that other graphs list. Siblings count, so that
// graphs of one call hand objects over in any order. The inventory of this graph is
// among those that are read for it.
func (r *run) loadClaims(ctx context.Context) (inventory.Claims, error) {
	began := r.now()
	claims, revision, err := r.claims(ctx, r.engine.Owner(), r.options.Siblings)
	if err == nil && revision == r.guard.revision {
		r.guard.confirm(began)
	}
	return claims, err
}

// applied reports whether every object was applied or failed, and the deletion of
// every object that left the graph was requested.
func (r *run) applied() bool {
	for _, s := range r.engine.Statuses() {
		switch s.Phase {
		case v1alpha1.NodeReady, v1alpha1.NodeProgressing, v1alpha1.NodeDegraded, v1alpha1.NodeFailed, v1alpha1.NodeDeleting, v1alpha1.NodeGone:
		default:
			return false
		}
	}
	return true
}
