package review_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
)

// A drawing of a change leaves out an arrow that others of the drawing imply. An arrow that
// only nodes outside of the drawing imply stays.
func TestDrawingLeavesOutImplied(t *testing.T) {
	rg := &v1alpha1.ResourceGraph{}
	needs := map[string][]string{"b": {"a"}, "c": {"a", "b"}, "far": {"c"}, "d": {"c", "far", "a"}}
	for _, id := range []string{"a", "b", "c", "far", "d"} {
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID: id, Dependencies: needs[id],
			Resource: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + id + `"}}`)},
		})
	}
	var in review.Instance
	in.After = rg
	for _, id := range []string{"a", "b"} {
		in.Objects = append(in.Objects, review.Object{Node: id, ObjectDiff: objectdiff.ObjectDiff{Action: objectdiff.Modify}})
	}
	d := in.Drawing()
	got := map[string]bool{}
	for _, e := range d.Edges {
		got[d.Nodes[e.From].ID+d.Nodes[e.To].ID] = true
	}
	if diff := cmp.Diff(map[string]bool{"ab": true, "bc": true, "ad": true}, got); diff != "" || d.Hidden != 1 {
		t.Errorf("%d hidden; arrows (-want +got):\n%s", d.Hidden, diff)
	}
}
