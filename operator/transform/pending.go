package transform

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// pending reports whether a graph of the Transform may still need the rights of an earlier
// version of the module. It lists the graphs, so it is called only while roles have more rights
// than the current version needs.
func (s *session) pending(ctx context.Context) (bool, error) {
	var graphs v1alpha1.ResourceGraphList
	for {
		if err := s.listGraphs(ctx, &graphs); err != nil {
			return false, err
		}
		for i := range graphs.Items {
			if !settled(&graphs.Items[i], s.p.loaded.Module.Digest) {
				return true, nil
			}
		}
		if graphs.Continue == "" {
			return false, nil
		}
	}
}

// listGraphs lists a page of the graphs of the Transform. Graphs of a Transform of this name in
// another namespace have the same labels, which only makes this one wait.
func (s *session) listGraphs(ctx context.Context, graphs *v1alpha1.ResourceGraphList) error {
	return s.api.List(ctx, graphs, client.HasLabels{v1alpha1.LabelOperator}, client.MatchingLabels{v1alpha1.LabelTransform: v1alpha1.LabelValue(s.t.Name)},
		client.Limit(100), client.Continue(graphs.Continue))
}

// settled reports whether a graph is one of the module with a digest, and owns nothing else
// than its nodes.
func settled(g *v1alpha1.ResourceGraph, digest string) bool {
	if g.Spec.PlatformRef.Digest != digest || g.Status.ObservedGeneration != g.Generation ||
		g.Status.Phase != v1alpha1.GraphCompleted || !g.DeletionTimestamp.IsZero() {
		return false
	}
	return g.Status.Inventory == nil || g.Status.Inventory.Count <= len(g.Spec.Graph.Nodes)
}
