package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// run drives one engine until it is done, stuck or out of time.
type run struct {
	*Applier
	engine  *engine.Engine
	options Options
	slots   chan struct{}
	done    chan answer
	seen    chan cluster.Event
	watched *watches
	guard   guard
	flying  int
	execute execute.Executor
}

type answer struct {
	action  engine.Action
	outcome engine.Outcome
}

func (a *Applier) run(ctx context.Context, e *engine.Engine, o Options) (*Result, error) {
	concurrency := a.Concurrency
	if concurrency <= 0 {
		concurrency = 16
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, ErrTimeout)
		defer cancel()
	}
	r := &run{
		Applier: a, engine: e, options: o,
		slots: make(chan struct{}, concurrency), done: make(chan answer, concurrency),
		seen: make(chan cluster.Event, 64),
	}
	r.execute = execute.Executor{Client: a.Client, Owner: e.Owner(), Write: r.write, Record: r.record, Claims: r.loadClaims}
	r.guard.revision, r.guard.checked = e.Inventory().Revision, r.now()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	r.watched = newWatches(watching, a.Client, e.Owner(), r.seen)
	phase, err := r.loop(ctx)
	if err != nil {
		err = errors.Join(err, r.wrapUp(ctx, errors.Is(err, ErrSuperseded)))
	}
	outputs, unknown := e.Outputs()
	return &Result{
		Phase: phase, Statuses: e.Statuses(), Outputs: outputs, OutputErrors: unknown, RequestError: r.trouble(ctx, err),
	}, err
}

// trouble is what keeps a run that ran out of time from asking the cluster. One
// that only waited for watches doesn't know that nobody answers any more.
func (r *run) trouble(ctx context.Context, err error) error {
	trouble := r.engine.RequestError()
	if trouble != nil || !errors.Is(err, ErrTimeout) {
		return trouble
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_, trouble = r.Inventories.Load(end, r.engine.Owner())
	return trouble
}

func (r *run) loop(ctx context.Context) (engine.Phase, error) {
	// Whoever cancels stops what isn't begun; requests under way are finished.
	working := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		step := r.engine.Step(r.now())
		r.report(step.Changes)
		for _, action := range step.Actions {
			r.start(ctx, working, action)
		}
		if step.Phase == engine.Completed || step.Phase == engine.Stuck && r.flying == 0 {
			return step.Phase, r.engine.Err()
		}
		if !r.options.Wait && r.flying == 0 && r.applied() {
			return step.Phase, r.wrapUp(ctx, false)
		}
		r.watched.follow(r.engine)
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

// await waits for anything to happen, and takes in all that has.
func (r *run) await(ctx context.Context, timer *time.Timer) error {
	select {
	case a := <-r.done:
		if err := r.answer(a); err != nil {
			return err
		}
	case ev := <-r.seen:
		r.observe(ev)
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		select {
		case a := <-r.done:
			if err := r.answer(a); err != nil {
				return err
			}
		case ev := <-r.seen:
			r.observe(ev)
		default:
			return nil
		}
	}
}

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

// answer takes in what came of an action. An inventory that somebody else wrote
// meanwhile ends the run, unless they apply the same.
func (r *run) answer(a answer) error {
	r.flying--
	if errors.Is(a.outcome.Err, ErrSuperseded) {
		return fmt.Errorf("graph %s: %w", r.engine.Owner(), ErrSuperseded)
	}
	var conflict *configmap.ConflictError
	if a.action.Verb == engine.Record && errors.As(a.outcome.Err, &conflict) {
		stored, err := r.load(context.Background(), r.engine.Owner())
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

func (r *run) report(changes []engine.Status) {
	if r.options.Report == nil {
		return
	}
	now := r.now()
	for _, status := range changes {
		r.options.Report(Event{now, status})
	}
}

// start carries out an action beside the others.
func (r *run) start(ctx, working context.Context, a engine.Action) {
	r.flying++
	go func() {
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
		case <-ctx.Done():
			r.done <- answer{a, engine.Outcome{Err: context.Cause(ctx)}}
			return
		}
		r.done <- answer{a, r.execute.Do(working, a)}
	}()
}

// write sends an action that changes the cluster, unless another run has
// superseded this one.
func (r *run) write(ctx context.Context, a engine.Action) engine.Outcome {
	if err := r.mayWrite(ctx); err != nil {
		return engine.Outcome{Err: err}
	}
	return r.execute.Send(ctx, a)
}

// record stores the inventory, or removes it when the graph owns nothing any more.
func (r *run) record(ctx context.Context, inv *inventory.Inventory) error {
	var err error
	if len(inv.Entries) == 0 && inv.Complete {
		err = r.Inventories.Remove(ctx, inv)
	} else {
		err = r.Inventories.Save(ctx, inv)
	}
	if err == nil {
		r.guard.believe(r.now())
	}
	return recordError(inv, err)
}

func (r *run) loadClaims(ctx context.Context) (inventory.Claims, error) {
	return r.claims(ctx, r.engine.Owner(), r.options.Siblings)
}

// recordError tells what will pass from what ends the run: without a record of
// its intent nothing may be written.
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

// applied says whether every object was applied, and the deletion of what left
// was asked for.
func (r *run) applied() bool {
	for _, s := range r.engine.Statuses() {
		switch s.Phase {
		case v1alpha1.NodeReady, v1alpha1.NodeProgressing, v1alpha1.NodeFailed, v1alpha1.NodeDeleting, v1alpha1.NodeGone:
		default:
			return false
		}
	}
	return true
}

// farewell bounds how long a run that is stopped takes to write down what it did.
const farewell = 10 * time.Second

// wrapUp waits for the requests under way and records what came of them, in the
// inventory of another run if one took over.
func (r *run) wrapUp(ctx context.Context, superseded bool) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	for r.flying > 0 {
		select {
		case a := <-r.done:
			r.flying--
			r.engine.Done(a.action, a.outcome)
		case <-r.seen:
		case <-end.Done():
			return fmt.Errorf("graph %s: %d requests weren't answered; the next run will see what came of them", r.engine.Owner(), r.flying)
		}
	}
	if superseded {
		if err := r.bequeath(end); err != nil {
			return fmt.Errorf("graph %s: recording what was done: %w", r.engine.Owner(), err)
		}
		return nil
	}
	if inv, changed := r.engine.UnsavedInventory(); changed {
		if err := r.Inventories.Save(end, inv); err != nil {
			return fmt.Errorf("graph %s: recording what was done: %w", r.engine.Owner(), err)
		}
	}
	return nil
}
