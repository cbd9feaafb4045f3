package applier_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/test/harness"
)

func TestPlanHandOver(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	const two = `
nodes:
- id: a
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- id: b
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`
	one := "\nnodes:\n" + two[strings.Index(two, "- id: b"):]
	applied(t, a, parse(t, c, "first", two))
	// Another graph that lists it fails with the name of its owner.
	_, lines := planOf(t, a, parse(t, c, "second", one), applier.PlanOptions{})
	want := []string{"b: ; OwnedElsewhere: belongs to graph " + c.Namespace + "/first: apply that graph without it, or list it in spec.adopt.resources"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// If both are applied together, the first hands it over.
	only := parse(t, c, "first", two[:strings.Index(two, "- id: b")])
	together := applier.PlanOptions{Siblings: []*v1alpha1.ResourceGraph{only, parse(t, c, "second", one)}}
	_, first := planOf(t, a, together.Siblings[0], together)
	_, second := planOf(t, a, together.Siblings[1], together)
	want = []string{"a: unchanged", "ConfigMap b: released to second", "b: adopted; from " + c.Namespace + "/first"}
	if diff := cmp.Diff(want, append(first, second...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The same is planned while the other graph is about to adopt it.
	_, err := a.Apply(t.Context(), parse(t, c, "second", one+`
- id: c
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`), applier.Options{Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, lines = planOf(t, a, only, applier.PlanOptions{}); !cmp.Equal(lines, []string{"a: unchanged", "ConfigMap b: released to second"}) {
		t.Errorf("what another graph waits for: %v", lines)
	}
	taking := parse(t, c, "second", one)
	taking.Spec.Adopt = &v1alpha1.Adopt{Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "b"}}}
	_, lines = planOf(t, a, taking, applier.PlanOptions{})
	want = []string{"b: adopted; from " + c.Namespace + "/first", "ConfigMap c: deleted"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Then the first doesn't remove it any more.
	if _, err := a.Apply(t.Context(), taking, applier.Options{Timeout: 20 * time.Second, Wait: true}); err != nil {
		t.Fatal(err)
	}
	if _, lines = planOf(t, a, only, applier.PlanOptions{}); !cmp.Equal(lines, []string{"a: unchanged"}) {
		t.Errorf("what another graph took: %v", lines)
	}
}
