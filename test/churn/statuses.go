package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// Settled waits until every graph reports that its current generation is ready
// and deleted graphs no longer exist. It then fails the test unless the cluster
// has exactly the objects of the graphs, with the right content, and the
// inventories list exactly these.
//
// After a change by another client, a graph may be ready because the applier has
// not seen the change yet. Then Settled waits for the objects too. Otherwise it
// checks them only once: a graph that reports to be ready before it is must fail
// the test.
func (u *Churn) Settled() {
	u.t.Helper()
	harness.Eventually(u.t, u.patience(), u.checkStatuses)
	if u.foreign {
		harness.Eventually(u.t, u.patience(), u.checkObjects)
		harness.Eventually(u.t, u.patience(), u.checkStatuses)
	}
	if err := u.checkObjects(u.t.Context()); err != nil {
		u.t.Fatalf("the graphs report that they are ready: %v", err)
	}
	u.foreign = false
}

// Drain deletes all graphs, waits until they no longer exist and checks that no
// object of them is left.
func (u *Churn) Drain() {
	u.t.Helper()
	for _, s := range u.slots {
		if s.graph != nil {
			u.delete(s)
		}
	}
	u.Settled()
}

// patience returns how long to wait.
func (u *Churn) patience() time.Duration {
	if u.Patience > 0 {
		return u.Patience
	}
	return 3 * time.Minute
}

// checkStatuses returns an error unless all graphs report that they are ready and
// list the right objects.
func (u *Churn) checkStatuses(ctx context.Context) error {
	list, err := u.graphs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	// there has the existing graphs by name.
	there := map[string]*v1alpha1.ResourceGraph{}
	for i := range list.Items {
		rg, err := decode(&list.Items[i])
		if err != nil {
			return err
		}
		there[rg.Name] = rg
	}
	for _, s := range u.slots {
		rg := there[s.name]
		switch {
		case s.graph == nil && rg != nil:
			return fmt.Errorf("graph %s still exists: %s", s.name, summary(rg))
		case s.graph == nil:
			s.leaving = false
			continue
		case rg == nil:
			return fmt.Errorf("graph %s does not exist", s.name)
		}
		if err := checkReady(rg); err != nil {
			return fmt.Errorf("graph %s, generation %d: %w: %s", s.name, rg.Generation, err, summary(rg))
		}
		if diff := cmp.Diff(s.graph.inventory(s.name), owned(rg)); diff != "" {
			return fmt.Errorf("graph %s is ready; inventory (-want +got):\n%s", s.name, diff)
		}
	}
	return nil
}

// checkReady returns an error unless the status of a graph reports that its
// current generation is ready, with all its fields consistent.
func checkReady(rg *v1alpha1.ResourceGraph) error {
	conditions := rg.Status.Conditions
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case rg.Status.ObservedGeneration != rg.Generation:
		return fmt.Errorf("generation %d is observed", rg.Status.ObservedGeneration)
	case c == nil || c.Status != metav1.ConditionTrue:
		return fmt.Errorf("not ready")
	case c.ObservedGeneration != rg.Generation:
		return fmt.Errorf("ready is generation %d", c.ObservedGeneration)
	case len(conditions) != 1:
		return fmt.Errorf("ready, and it has other conditions")
	case rg.Status.Phase != v1alpha1.GraphCompleted:
		return fmt.Errorf("ready, but the phase is %s", rg.Status.Phase)
	case rg.Status.Inventory == nil || !rg.Status.Inventory.Complete:
		return fmt.Errorf("ready, but the inventory is not complete")
	}
	return nil
}

// inventory returns the expected inventory and node phases, by node id.
func (g *graph) inventory(name string) map[string]string {
	want := map[string]string{}
	for id, n := range g.nodes {
		want[id] = n.kind + " " + name + "-" + id + ", Ready"
	}
	return want
}

// owned returns the actual inventory and node phases, by node id. The status must
// have an inventory. Two entries for one node are concatenated, and a node
// without an entry is "none", so that both differ from the expected text.
func owned(rg *v1alpha1.ResourceGraph) map[string]string {
	got := map[string]string{}
	for _, e := range rg.Status.Inventory.Entries {
		got[e.Node] += e.Kind + " " + e.Name + ", " + string(rg.Status.NodeStates[e.Node].Phase)
		if e.UID == "" {
			got[e.Node] += ", without a UID"
		}
	}
	for id, s := range rg.Status.NodeStates {
		if got[id] == "" {
			got[id] = "none, " + string(s.Phase)
		}
	}
	return got
}

// decode converts an object into a ResourceGraph.
func decode(obj *unstructured.Unstructured) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	raw, err := json.Marshal(obj.Object)
	if err == nil {
		err = json.Unmarshal(raw, rg)
	}
	return rg, err
}

// summary formats a status for error messages.
func summary(rg *v1alpha1.ResourceGraph) string {
	parts := []string{string(rg.Status.Phase)}
	for _, c := range rg.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	for _, id := range slices.Sorted(maps.Keys(rg.Status.NodeStates)) {
		s := rg.Status.NodeStates[id]
		parts = append(parts, fmt.Sprintf("%s %s %s", id, s.Phase, s.Message))
	}
	return strings.Join(parts, "; ")
}
