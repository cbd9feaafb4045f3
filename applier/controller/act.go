package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cause"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
)

// prepared takes in what a run needs to begin.
func (r *run) prepared(p *prepared, err error) {
	if r.over {
		return
	}
	now := r.d.c.now()
	if err != nil {
		r.complain(err, now)
		return
	}
	if older(p.version, r.d.version) || p.graph.UID != r.goal.uid {
		// What was read is older than what was seen.
		r.over = true
		r.d.restart()
		return
	}
	r.graph, r.d.graph, r.d.version, r.d.bare = p.graph, nil, p.version, false
	r.status = p.graph.Status
	r.d.actAs(p.account)
	r.client, r.stored, r.fresh = p.client, p.stored, p.fresh
	for id, s := range r.status.NodeStates {
		r.drifted[id] = s.Message
	}
	switch {
	case r.goal.verb == halt:
		r.halt(now)
	case p.gone && r.goal.verb != execute:
		r.orphan(p.message, now)
	case p.reason != "":
		r.stall(p.reason, p.message, now)
	}
}

// start carries out an action of the engine.
func (r *run) start(a *engine.Action) {
	if a.Verb == engine.Record {
		r.flying++
		r.recording = a
		r.record()
		return
	}
	switch a.Verb {
	case engine.LoadClaims:
		r.askOthers(a)
		return
	case engine.Survey:
		r.survey(a)
		return
	}
	r.job(func(ctx context.Context) func() {
		began := time.Now()
		o := r.do(ctx, a)
		took := time.Since(began)
		return func() {
			if a.Verb == engine.Apply && o.Err == nil {
				r.took[a.Node] = took
			}
			if o.Err == nil && (a.Verb == engine.Apply || a.Verb == engine.Delete) {
				r.d.attempts = 0 // whatever failed before, the graph gets on
			}
			r.engine.Done(*a, o)
		}
	})
}

// errCrowded says that a cause isn't looked for while there is so much to do: it
// is what keeps objects from being ready.
var errCrowded = errors.New("there is more to do")

// survey reads the objects of the graph.
func (r *run) survey(a *engine.Action) {
	r.flying++
	r.d.c.share.Survey(share.Survey{
		Graph: r.d, Targets: a.Targets, Recorded: r.stored != nil && r.stored.Revision != "",
		Alone: func(ctx context.Context) engine.Outcome { return r.do(ctx, a) },
		Found: func(objects []*unstructured.Unstructured) {
			r.d.post(func() {
				for _, obj := range objects {
					r.engine.Observe(obj)
				}
			})
		},
		Done: func(o engine.Outcome) {
			r.d.post(func() {
				r.flying--
				r.engine.Done(*a, o)
			})
		},
	})
}

func (r *run) do(ctx context.Context, a *engine.Action) (o engine.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = engine.Outcome{Err: r.d.c.share.PanicError(p, r.d.owner)}
		}
	}()
	if a.Verb == engine.Explain {
		if r.d.c.share.Crowded() {
			return engine.Outcome{Err: errCrowded}
		}
		message, err := cause.Find(ctx, r.client, a.Object)
		return engine.Outcome{Message: message, Err: err}
	}
	return r.client.Do(ctx, r.d.owner.Selector(), *a)
}

// note tells the world what happened to nodes.
func (r *run) note(changes []engine.Status, now time.Time) {
	ns, name, m := r.d.key.Namespace, r.d.key.Name, r.d.c.Metrics
	for i := range changes {
		s := &changes[i]
		r.dirty = true
		if s.ID == "" {
			if s.Phase == v1alpha1.NodeGone {
				r.pruned++
			}
			continue
		}
		if took, ok := r.took[s.ID]; ok && s.Op != "" && s.Phase != v1alpha1.NodeApplying {
			delete(r.took, s.ID)
			r.applied++
			m.NodeApplied(ns, name, s.ID, s.Op, took)
			r.tellApplied(s)
		}
		if s.Phase == v1alpha1.NodeReady && s.ReadyAt.Equal(now) && !s.AppliedAt.IsZero() {
			m.NodeReady(ns, name, s.ID, s.ReadyAt.Sub(s.AppliedAt))
		}
		if text := leftSo(s); s.Drifted && r.drifted[s.ID] != text {
			r.drifted[s.ID] = text
			r.tellDrift(s, "DriftDetected", " was changed by others; spec.driftPolicy leaves it so")
		}
		r.tellFailure(s)
	}
}
