package catalog

import (
	"slices"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
)

// TestDegraded shows graphs with an object that doesn't get ready, such as a Pod in a crash loop, as
// degraded, before those in progress.
func TestDegraded(t *testing.T) {
	graph := func(phase v1alpha1.NodePhase) *v1alpha1.ResourceGraph {
		rg := &v1alpha1.ResourceGraph{}
		rg.Generation, rg.Status.ObservedGeneration, rg.Status.Phase = 1, 1, v1alpha1.GraphExecuting
		rg.Status.NodeStates = map[string]v1alpha1.NodeState{"a": {Phase: v1alpha1.NodeReady}, "b": {Phase: phase}}
		return rg
	}
	if got := stateOf(graph(v1alpha1.NodeDegraded)); got != Degraded {
		t.Errorf("a graph with a degraded node is %s", got)
	}
	if got := stateOf(graph(v1alpha1.NodeWaiting)); got != Progressing {
		t.Errorf("a graph with a waiting node is %s", got)
	}
	all := []Summary{{Name: "c", State: Progressing}, {Name: "b", State: Degraded}, {Name: "a", State: Failed}}
	slices.SortFunc(all, Summary.compareUrgency)
	if all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("%+v", all)
	}
	s := Summary{Finished: true}
	s.Observe(&applier.State{Nodes: []applier.NodeState{{Status: engine.Status{Phase: v1alpha1.NodeReady}}, {Status: engine.Status{Phase: v1alpha1.NodeDegraded, Message: "back-off restarting"}}}})
	if s.State != Degraded || s.Ready != 1 {
		t.Errorf("%+v", s)
	}
}
