package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// claimant is a graph that lists an object of another graph. The zero value is a
// graph that can't take it, for which reason says why.
type claimant struct {
	graph  *v1alpha1.ResourceGraph // without its spec
	client *cluster.Client         // acts as the graph's account
	reason string
	readAt time.Time
}

// handOvers hands objects of one graph over to other graphs that list them.
type handOvers struct {
	*services
	owner inventory.Owner
	// destination is the cluster of the objects, nil for that of the graph.
	destination *destination
	// report is called by any goroutine when an object was handed over to a graph.
	report func(engine.Action, *v1alpha1.ResourceGraph)

	mu sync.Mutex
	// known caches the claimants: all objects of a graph usually move to the same one.
	known map[inventory.Owner]claimant
}

// claimantAge is how long a claimant is trusted.
const claimantAge = 5 * time.Second

// claimant returns the graph of an owner. Concurrent callers wait for one request.
func (h *handOvers) claimant(ctx context.Context, owner inventory.Owner) (claimant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.known[owner]; ok && h.now().Sub(c.readAt) < claimantAge {
		return c, nil
	}
	c, err := h.readClaimant(ctx, owner, h.destination)
	if err != nil {
		return claimant{}, err
	}
	c.readAt = h.now()
	h.known[owner] = c
	return c, nil
}

func (s *services) readClaimant(ctx context.Context, owner inventory.Owner, destination *destination) (claimant, error) {
	rg, err := s.graphs.Get(ctx, types.NamespacedName(owner))
	switch {
	case apierrors.IsNotFound(err):
		return claimant{reason: "it doesn't exist"}, nil
	case err != nil:
		return claimant{}, err
	case rg.DeletionTimestamp != nil:
		return claimant{reason: "it is being deleted"}, nil
	case (rg.Labels[v1alpha1.LabelOperator] == v1alpha1.OperatorExecutes) != (s.Operator != nil):
		return claimant{reason: "another program executes it"}, nil
	case seenGraphOf(rg).suspended:
		return claimant{reason: "it is suspended"}, nil
	}
	if problems := graph.Check(rg); len(problems) > 0 {
		return claimant{reason: "it isn't valid"}, nil
	}
	p := &prerequisites{inputs: inputs{graph: rg}}
	if err := s.findAccount(ctx, p, false); err != nil {
		return claimant{}, err
	}
	if err := s.findDestination(ctx, p); err != nil {
		return claimant{}, err
	}
	if reason, err := p.refusal(destination); reason != "" || err != nil {
		return claimant{reason: reason}, err
	}
	rg.Spec = v1alpha1.ResourceGraphSpec{} // large, and not used any more
	return claimant{graph: rg, client: p.client}, nil
}

// refusal returns why a graph with these prerequisites can't take an object in a cluster, or "" if
// it can. The error means that its kubeconfig has changed since that of the other graph was read.
func (p *prerequisites) refusal(in *destination) (string, error) {
	switch {
	case p.client != nil && p.destination == in:
		return "", nil
	case in != nil && p.secret != nil && p.secret.ref == in.key.ref && p.reason != reasonKubeConfigRefused:
		// A refusal would have the object deleted. The other graph is about to read the Secret, too.
		return "", fmt.Errorf("the kubeconfig in Secret %s has changed", in.key.ref.Name)
	case p.client == nil:
		return p.message, nil
	}
	return "its objects are in another cluster", nil
}

// handOver hands an object over to another graph that lists it. It is that graph's
// account that changes the labels, so only a graph that may write the object can
// take it: otherwise, to list an object would be enough to keep it from being
// deleted. If the graph can't take it, the failure is [engine.ReasonClaimRefused].
func (h *handOvers) handOver(ctx context.Context, a engine.Action) engine.Outcome {
	to, err := h.claimant(ctx, *a.NewOwner)
	if err != nil {
		return engine.Outcome{Err: cluster.Classify(err)}
	}
	refused := func(reason string) engine.Outcome {
		return engine.Outcome{Err: &engine.Failure{Reason: engine.ReasonClaimRefused, Terminal: true, Message: reason}}
	}
	if to.client == nil {
		return refused(to.reason)
	}
	o := to.client.Do(ctx, h.owner.Selector(), a)
	var f *engine.Failure
	switch {
	case errors.As(o.Err, &f) && f.Terminal:
		return refused(f.Error())
	case o.Err == nil:
		h.report(a, to.graph)
	}
	return o
}

// handedOver reports, for both graphs, that an object passed from one to the other.
func (r *reporter) handedOver(a engine.Action, to *v1alpha1.ResourceGraph) {
	s := &engine.Status{Key: a.Key, Version: a.Version}
	r.emitHandOver("HandedOver", r.graph, s, fmt.Sprintf("%s was handed over to graph %s", a.Key, a.NewOwner))
	r.emitHandOver("HandedOver", to, s, fmt.Sprintf("%s was taken over from graph %s", a.Key, r.owner))
}
