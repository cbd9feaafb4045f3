package applier

import (
	"context"
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// A claim of another graph doesn't prove anything by itself: every user who may write
// ConfigMaps can write an inventory, and every user who may write ResourceGraphs can
// list an object. If a claim alone kept an object from being deleted, such a user could
// keep rights that were revoked. An object is therefore only handed over to
//
//   - a graph of the same invocation that lists it,
//   - a graph that claimed the object itself, see [cluster.Client.Claim]: its user may
//     change the object,
//   - a valid ResourceGraph in the cluster that lists it and isn't suspended, and whose
//     service account may change the object.

// checkClaim returns an error if an object must not be handed over to a.NewOwner. The
// error is an [engine.Failure] with [engine.ReasonClaimRefused] if there is no proof,
// and another one if the cluster didn't answer.
func (a *Applier) checkClaim(ctx context.Context, action engine.Action, from inventory.Owner, siblings []*v1alpha1.ResourceGraph) error {
	to := *action.NewOwner
	lists := func(graphs ...*v1alpha1.ResourceGraph) bool {
		var listed []*inventory.Inventory
		for _, rg := range graphs {
			if owner := (inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}); owner == to {
				listed = append(listed, &inventory.Inventory{Owner: to, Entries: engine.DesiredEntries(rg, a.namespaced(ctx))})
			}
		}
		_, ok := inventory.ClaimsOn(from, listed).Of(inventory.Entry{Key: action.Key})
		return ok
	}
	if lists(siblings...) {
		return nil
	}
	live, err := a.Client.GetLeft(ctx, action.Key, action.Version)
	if err != nil {
		return cluster.Classify(err)
	}
	if live == nil || cluster.IsClaimedBy(live, to) {
		return nil // an object that is gone can't be handed over, and the request says so
	}
	refuse := func(reason string) error {
		return &engine.Failure{Reason: engine.ReasonClaimRefused, Terminal: true, Message: reason}
	}
	rg, err := a.StoredGraph(ctx, to)
	switch {
	case err != nil:
		return cluster.Classify(err)
	case rg == nil:
		return refuse("nothing shows that graph " + to.String() + " may take it")
	case !claimsBySpec(rg) || !lists(rg) || len(graph.Check(rg)) > 0:
		return refuse(fmt.Sprintf("ResourceGraph %s isn't executed, or doesn't list it", to))
	}
	// Only the applier knows the account of a graph that names none.
	if rg.Spec.ServiceAccountName == "" {
		return refuse(fmt.Sprintf("ResourceGraph %s names no service account", to))
	}
	may, err := a.Client.MayPatch(ctx, action.Key, action.Version, to.Namespace, rg.Spec.ServiceAccountName)
	switch {
	case err != nil:
		return cluster.Classify(err)
	case !may:
		return refuse(fmt.Sprintf("nothing shows that service account %s may change it", rg.Spec.ServiceAccountName))
	}
	return nil
}

// isRefused reports whether the error of [Applier.checkClaim] means that there is no
// proof.
func isRefused(err error) bool {
	var f *engine.Failure
	return errors.As(err, &f) && f.Reason == engine.ReasonClaimRefused
}

// claimsBySpec reports whether a graph in the cluster claims what its spec lists, in the
// same cluster.
func claimsBySpec(rg *v1alpha1.ResourceGraph) bool {
	return rg.DeletionTimestamp == nil && rg.Spec.KubeConfig == nil && !rg.Spec.Suspend && rg.Labels[v1alpha1.LabelPaused] != "true"
}

// claimForeign claims the objects that a run couldn't take, because they belong to
// other graphs. When such a graph is applied without the object, it hands the object
// over. If an object can't be claimed, its status says so and is reported again. It has
// its own timeout, because ctx may be done.
func (a *Applier) claimForeign(ctx context.Context, owner inventory.Owner, statuses []engine.Status, report func(Event)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	for i := range statuses {
		s := &statuses[i]
		if s.Phase != v1alpha1.NodeFailed || s.Reason != engine.ReasonOwnedElsewhere {
			continue
		}
		err := cluster.Retry(ctx, func() error { return a.Client.Claim(ctx, s.Key, s.Version, owner) })
		if err == nil {
			continue
		}
		s.Message += "; claiming it, so that it isn't deleted then, failed: " + cluster.Classify(err).Error()
		if report != nil {
			report(Event{a.now(), *s})
		}
	}
}
