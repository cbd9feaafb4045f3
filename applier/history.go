package applier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/inventory"
)

// ErrNoHistory means that a graph was applied without a ResourceGraph in the cluster,
// whose status is the only place of a history.
var ErrNoHistory = errors.New("has no history: there is no ResourceGraph in the cluster")

// History returns the finished executions of a graph, oldest first. They are read
// from the status of its ResourceGraph, where the applier in the cluster keeps the
// last v1alpha1.MaxHistory of them. A graph that wasn't executed yet has none. The
// errors are [ErrNoHistory] and [ErrNoGraph].
func (a *Applier) History(ctx context.Context, owner inventory.Owner) ([]v1alpha1.Revision, error) {
	rg, err := a.StoredGraph(ctx, owner)
	if err != nil {
		return nil, err
	}
	if rg == nil {
		stored, err := a.load(ctx, owner)
		switch {
		case err != nil:
			return nil, err
		case stored.Revision == "":
			return nil, fmt.Errorf("graph %s: %w", owner, ErrNoGraph)
		}
		return nil, fmt.Errorf("graph %s: %w", owner, ErrNoHistory)
	}
	// Not nil: without executions, JSON has an empty array and not null.
	oldestFirst := make([]v1alpha1.Revision, 0, len(rg.Status.History))
	for _, r := range slices.Backward(rg.Status.History) {
		oldestFirst = append(oldestFirst, r)
	}
	return oldestFirst, nil
}

// LatestRevision is the last finished execution of a graph.
type LatestRevision struct {
	Owner inventory.Owner
	// Revision is nil if no execution has finished yet.
	Revision *v1alpha1.Revision
}

// LatestRevisions returns the last finished execution of each ResourceGraph of a
// namespace, "" for all namespaces, sorted by namespace and name. There are none if the
// cluster doesn't serve ResourceGraphs.
func (a *Applier) LatestRevisions(ctx context.Context, namespace string) ([]LatestRevision, error) {
	var all []LatestRevision
	var broken error
	err := a.Client.ListPages(ctx, cluster.Selection{GVK: resourceGraphs, Namespace: namespace}, func(page []unstructured.Unstructured) {
		for i := range page {
			rg, err := decodeGraph(&page[i])
			if err != nil {
				broken = cmp.Or(broken, fmt.Errorf("graph %s/%s: %w", page[i].GetNamespace(), page[i].GetName(), err))
				continue
			}
			latest := LatestRevision{Owner: inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}}
			if len(rg.Status.History) > 0 {
				latest.Revision = &rg.Status.History[0]
			}
			all = append(all, latest)
		}
	})
	var noKind *cluster.NoKindError
	if errors.As(err, &noKind) {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b LatestRevision) int {
		return cmp.Or(cmp.Compare(a.Owner.Namespace, b.Owner.Namespace), cmp.Compare(a.Owner.Name, b.Owner.Name))
	})
	return all, cmp.Or(err, broken)
}
