package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cause"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/execute"
	"github.com/pequod-io/pequod/applier/readiness"
)

// errCrowded is the result of an Explain while many requests wait, or other graphs
// become ready: the load itself may be why an object isn't ready.
var errCrowded = errors.New("many graphs are executed")

// newExecutor returns the executor of the actions of a run. It writes without
// restrictions. Record and LoadClaims don't reach it.
func newExecutor(s *services, client *cluster.Client, h *handOvers, began time.Time) *execute.Executor {
	x := &execute.Executor{Client: client, Owner: h.owner}
	x.Write = func(ctx context.Context, a engine.Action) engine.Outcome {
		if a.NewOwner != nil {
			return h.handOver(ctx, a)
		}
		return x.Send(ctx, a)
	}
	x.Explain = func(ctx context.Context, object *unstructured.Unstructured) (readiness.Verdict, error) {
		now := s.now()
		if !cause.Decides(object) && (s.share.Crowded() || now.Before(began.Add(yieldFor)) && s.progress.completing(now)) {
			return readiness.Verdict{}, errCrowded
		}
		return cause.Find(ctx, client, object, time.Now()) // the times of Pods aren't those of s
	}
	return x
}

// start carries out an action of the engine. Surveys and claims are shared with
// other graphs, and a record is written together with the status; all others are
// one job each.
func (r *run) start(a *engine.Action) {
	switch a.Verb {
	case engine.Record:
		r.requests.add()
		r.record = a
		r.writeRecord()
	case engine.LoadClaims:
		r.loadClaims(a)
	case engine.Survey:
		r.survey(a)
	default:
		if r.forbidden(a) {
			r.requests.add()
			r.requests.answer(func() {
				r.engine.Done(*a, engine.Outcome{Err: &engine.Failure{Reason: reasonCrossNamespace, Message: outside(a.Key), Terminal: true}})
			})
			return
		}
		hurried, account := r.host.hurried(), r.host.serviceAccount()
		objects := r.host.clusterShare()
		r.requests.startIn(objects, func(ctx context.Context) func() {
			if hurried {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, shortTimeout)
				defer cancel()
			}
			began := time.Now()
			o := r.do(ctx, a)
			took := time.Since(began)
			if o.Object != nil && a.Verb != engine.Compare {
				gvk := schema.GroupVersionKind{Group: a.Key.Group, Version: a.Version, Kind: a.Key.Kind}
				objects.Saw(account, gvk, a.Key, o.Object.GetResourceVersion())
			}
			return func() { r.done(a, o, took) }
		})
	}
}

// forbidden reports whether an action reads or writes the object of a node outside
// the graph's namespace, and Options.NoCrossNamespace forbids that. buildEngine
// refuses such graphs as a whole, unless the scope of a kind becomes known later.
func (r *run) forbidden(a *engine.Action) bool {
	return r.NoCrossNamespace && a.Node != "" && (a.Verb == engine.Read || a.Verb == engine.Apply) && a.Key.Namespace != r.host.Owner().Namespace
}

// done hands the outcome of an action over to the engine.
func (r *run) done(a *engine.Action, o engine.Outcome, took time.Duration) {
	if o.Err != nil && took >= shortTimeout {
		r.host.timedOut()
	}
	if o.Err == nil {
		switch a.Verb {
		case engine.Apply:
			r.report.applied(a.Node, took)
			r.progressed()
		case engine.Delete:
			r.progressed()
		}
	}
	var f *engine.Failure
	if errors.As(o.Err, &f) && f.Reason == engine.ReasonScopeChanged {
		r.fail(o.Err) // the next run makes other keys
		return
	}
	r.engine.Done(*a, o)
}

// progressed records that an object was written or deleted.
func (r *run) progressed() {
	r.changed = true
	r.host.progressed()
}

// do carries out an action. A panic becomes an error of the action.
func (r *run) do(ctx context.Context, a *engine.Action) (o engine.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = engine.Outcome{Err: r.share.PanicError(p, r.host.Owner())}
		}
	}()
	return r.executor.Do(ctx, *a)
}

// survey reads all objects of the graph.
func (r *run) survey(a *engine.Action) {
	r.requests.add()
	r.host.clusterShare().Survey(share.Survey{
		Graph: r.host, Targets: a.Targets, Recorded: r.inventory.Revision != "" && !a.Search,
		Alone: func(ctx context.Context) engine.Outcome { return r.do(ctx, a) },
		Found: func(objects []*unstructured.Unstructured) {
			r.host.post(func() {
				for _, obj := range objects {
					r.engine.Observe(obj)
				}
			})
		},
		Done: func(o engine.Outcome) {
			r.requests.answer(func() {
				before := len(r.engine.Inventory().Entries)
				r.engine.Done(*a, o)
				// A search that is repeated in a few groups finds nothing most of the time.
				if found := len(r.engine.Inventory().Entries) - before; a.Search && o.Err == nil && (found > 0 || len(a.Groups) == 0) {
					r.report.searched(found, r.engine.Unproven(), o.Unsearched)
				}
			})
		},
	})
}

// loadClaims asks which objects the other graphs of the namespace list. It
// occupies no slot of the graph in the pool while it waits for the answer.
func (r *run) loadClaims(a *engine.Action) {
	r.requests.add()
	client, ref := r.executor.Client, clusterOf(r.graph)
	if home := r.host.home(); home != nil {
		client = home
	}
	r.share.Listings(r.host.serviceAccount(), r.host.Owner().Namespace, client, func(l share.Listings, err error) {
		r.requests.answer(func() {
			o := engine.Outcome{Err: err}
			if err == nil {
				o.Claims = l[ref].Besides(r.host.Owner())
			}
			r.engine.Done(*a, o)
		})
	})
}
