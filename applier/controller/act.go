package controller

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cause"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
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
	r.d.account = p.account
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
	r.job(func() func() {
		began := time.Now()
		o := r.do(context.Background(), a)
		took := time.Since(began)
		return func() {
			if a.Verb == engine.Apply && o.Err == nil {
				r.took[a.Node] = took
			}
			r.engine.Done(*a, o)
		}
	})
}

func (r *run) do(ctx context.Context, a *engine.Action) engine.Outcome {
	switch a.Verb {
	case engine.Others:
		claims, err := r.claims(ctx)
		return engine.Outcome{Claims: claims, Err: err}
	case engine.Explain:
		message, err := cause.Find(ctx, r.client, a.Object)
		return engine.Outcome{Message: message, Err: err}
	}
	return r.client.Do(ctx, r.d.owner.Selector(), *a)
}

// claims tells what other graphs of the namespace list: what is handed over to
// them isn't deleted.
func (r *run) claims(ctx context.Context) (inventory.Claims, error) {
	var others []*inventory.Inventory
	here := map[inventory.Owner]bool{}
	list := &v1alpha1.ResourceGraphList{}
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.d.c.graphs.Get().Resource("resourcegraphs").Namespace(r.d.key.Namespace).Do(bounded).Into(list); err != nil {
		return inventory.Claims{}, err
	}
	for i := range list.Items {
		rg := &list.Items[i]
		if rg.DeletionTimestamp != nil {
			continue
		}
		owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
		others = append(others, &inventory.Inventory{Owner: owner, Entries: engine.Listed(rg, r.namespaced)})
		if in := rg.Status.Inventory; in != nil {
			others = append(others, inventory.OfStatus(owner, in))
			here[owner] = in.ConfigMap == ""
		}
	}
	// Graphs that are executed from outside keep theirs in ConfigMaps.
	outside, err := configmap.NewStore(r.client.REST()).List(ctx, r.d.key.Namespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return inventory.Claims{}, err
	}
	// A ConfigMap that was left beside an inventory in a status counts no more.
	outside = slices.DeleteFunc(outside, func(inv *inventory.Inventory) bool { return here[inv.Owner] })
	return inventory.ClaimsOn(r.d.owner, append(others, outside...)), nil
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
