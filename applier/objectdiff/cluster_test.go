package objectdiff_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
)

// An object that moves to another cluster is removed from one and created in the other.
func TestClusters(t *testing.T) {
	objects := func(secret string) []objectdiff.Object {
		t.Helper()
		rg := &v1alpha1.ResourceGraph{}
		text := `
metadata: {name: web, namespace: shop}
spec:
  graph: {nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]}
`
		if secret != "" {
			text += "  kubeConfig: {secretRef: {name: " + secret + "}}\n"
		}
		if err := yaml.UnmarshalStrict([]byte(text), rg); err != nil {
			t.Fatal(err)
		}
		all, err := objectdiff.FromGraph(rg, "web.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return all[:1]
	}
	diff := objectdiff.Compare(objects("prod"), objects(""))
	var got []string
	for _, o := range diff.Objects {
		got = append(got, fmt.Sprint(o.Action, " ", o.Key))
	}
	want := []string{"add ConfigMap shop/a", "remove ConfigMap shop/a (cluster of Secret shop/prod)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
