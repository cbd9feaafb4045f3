package applier_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/test/harness"
)

// TestPlanReplicas plans replicas, which several managers set.
func TestPlanReplicas(t *testing.T) {
	t.Parallel()
	deployment := plannedGraph[strings.Index(plannedGraph, "- id: deployment"):strings.Index(plannedGraph, "  dependencies: [config]")]
	with := "nodes:\n" + deployment
	without := strings.Replace(with, "      replicas: 2\n", "", 1)
	tests := map[string]struct {
		scale         bool
		before, after string
		op            engine.Operation
	}{
		"the graph wants them no more":    {before: with, after: without, op: engine.Unchanged},
		"an autoscaler has them":          {before: with, after: strings.Replace(with, "image: nginx", "image: other", 1), scale: true, op: engine.Configured},
		"an autoscaler has them no more":  {before: without, after: with, op: engine.Configured},
		"they are left to others":         {before: with, after: strings.Replace(with, "replicas: 2", "replicas: 5", 1) + "  applyPolicy: {ignoreFields: [spec.replicas]}\n", op: engine.Unchanged},
		"the graph wants others, and may": {before: with, after: strings.Replace(with, "replicas: 2", "replicas: 5", 1), op: engine.Configured},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.Start(t)
			a := newApplier(t, c)
			applied(t, a, parse(t, c, "web", test.before))
			if test.scale {
				client, err := c.Resource("apps/v1", "Deployment", "")
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"replicas": 3}}`),
					metav1.PatchOptions{FieldManager: "kube-controller-manager"}, "scale")
				if err != nil {
					t.Fatal(err)
				}
			}
			rg := parse(t, c, "web", test.after)
			plan, lines := planOf(t, a, rg, applier.PlanOptions{})
			if plan.Nodes[0].Op != test.op {
				t.Errorf("planned: %s", lines)
			}
			applied(t, a, rg)
			asPlanned(t, c, plan)
		})
	}
}
