package controller

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// run is one execution of a graph, or its removal: from the moment that there is
// reason for it until nothing is left to be done.
type run struct {
	d     *driver
	goal  goal
	head  head
	began time.Time
	// over runs ask for nothing any more; what is under way is waited for.
	over bool
	// stalled runs only write that they are.
	stalled bool
	flying  int

	graph     *v1alpha1.ResourceGraph
	preparing bool
	client    *cluster.Client // of the graph's account
	stored    *inventory.Inventory
	fresh     bool // the graph was never executed
	engine    *engine.Engine

	status    v1alpha1.ResourceGraphStatus // as it is stored
	writing   bool
	wrote     time.Time
	dirty     bool // something changed since the status was written
	recording *engine.Action
	outlook   engine.Phase
	revision  *v1alpha1.Revision // how it ended
	releaseAt time.Time          // when the finalizer is tried to be removed again

	took    map[string]time.Duration // by node: the request that applied it
	applied int
	pruned  int
	failed  map[string]string // by node: the failure that was told last
	drifted map[string]string // by node: what was told of it
}

// backoff is that of everything that a run tries again.
var backoff = engine.Backoff{Jitter: rand.Float64}

// How often it is asked why something isn't ready.
const explainEvery = 10 * time.Second

// job has something done in the pool, and then what follows by the worker.
func (r *run) job(do func(context.Context) (then func())) { r.d.c.share.Continue(r.d, r.counted(do)) }

// counted is a job that is known to be under way until what follows is done.
func (r *run) counted(do func(context.Context) (then func())) share.Job {
	r.flying++
	return func(ctx context.Context) {
		then := r.guarded(ctx, do)
		r.d.post(func() {
			r.flying--
			then()
		})
	}
}

// guarded does something of which a panic is the trouble of one graph: the
// others go on.
func (r *run) guarded(ctx context.Context, do func(context.Context) (then func())) (then func()) {
	defer func() {
		if p := recover(); p != nil {
			err := r.d.c.share.PanicError(p, r.d.owner)
			then = func() { r.complain(err, r.d.c.now()) }
		}
	}()
	return do(ctx)
}

// advance does what can be done now. It returns when to be called again.
func (r *run) advance(now time.Time) time.Time {
	switch {
	case r.over, r.stalled:
		return time.Time{}
	case r.engine == nil && r.flying > 0:
		return time.Time{}
	case r.engine == nil && !r.preparing:
		r.preparing = true
		r.prepare()
		return time.Time{}
	case r.engine == nil:
		if !r.build(now) {
			return r.d.retryAt
		}
	}
	step := r.engine.Step(now)
	r.outlook = step.PhaseAfterRecord
	r.note(step.Changes, now)
	if len(step.Changes) > 0 {
		r.watch()
	}
	for i := range step.Actions {
		r.start(&step.Actions[i])
	}
	if r.flying == 0 {
		switch step.Phase {
		case engine.Completed, engine.Stuck:
			return r.finish(step.Phase, now)
		}
	}
	return earliest(step.Wake, earliest(r.publish(now), r.d.poll(now)))
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// build makes the engine of a run that is prepared. A graph that can't be
// executed is told so.
func (r *run) build(now time.Time) bool {
	options := engine.Options{
		Prune: true, AllowEmpty: true, ExplainInterval: explainEvery, Backoff: backoff, NeverApplied: r.fresh,
		Namespaced: r.d.c.namespaced, Orphan: r.goal.verb == abandon,
	}
	if r.graph != nil && r.graph.Spec.DriftPolicy == v1alpha1.DriftReport {
		options.Drift = engine.ReportDriftedFields
	}
	if r.goal.verb != execute {
		r.engine = engine.NewDelete(r.stored, options)
	} else {
		e, err := engine.New(r.graph, r.stored, options)
		if err != nil {
			r.stall(reasonInvalid, err.Error(), now)
			return false
		}
		if foreign := r.foreign(e); foreign != "" {
			r.stall(reasonCrossNamespace, foreign, now)
			return false
		}
		r.engine = e
		r.d.c.Metrics.Declare(r.graph)
		if r.d.rest != nil {
			// If it can't go on from there, it looks for itself.
			_ = e.Resume(r.d.rest)
		}
	}
	r.d.rest = nil
	r.watch()
	for _, s := range r.d.early {
		r.d.observe(s)
	}
	r.d.early = nil
	return true
}

// foreign names an object in another namespace, where that isn't allowed.
func (r *run) foreign(e *engine.Engine) string {
	if !r.d.c.NoCrossNamespace {
		return ""
	}
	for _, s := range e.Statuses() {
		if s.ID != "" && s.Key.Namespace != "" && s.Key.Namespace != r.d.key.Namespace {
			return "node " + s.ID + ": " + s.Key.String() + " is in another namespace than its graph, which the applier doesn't allow (--no-cross-namespace)"
		}
	}
	return ""
}

// namespaced says whether the objects of a kind have a namespace, and whether
// that is known.
func (c *controller) namespaced(gvk schema.GroupVersionKind) (bool, bool) {
	kind, known := c.own.Kinds().Cached(gvk)
	return kind.Namespaced, known
}

// watch follows the objects of the run, from before they are read for the first
// time: nothing that happens to them is missed.
func (r *run) watch() {
	held := r.engine.Tracked()
	r.d.places = nil
	for _, t := range held {
		if p := (share.Selection{GVK: share.KindOf(t), Namespace: t.Namespace}); !slices.Contains(r.d.places, p) {
			r.d.places = append(r.d.places, p)
		}
	}
	r.d.polled, r.d.awaiting = r.d.c.share.Subscribe(r.d, r.d.serviceAccount(), r.client, held), false
}
