package review_test

import (
	"testing"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
)

// The title of a change names the field that loses something, not the harmless one.
func TestTitleNamesDanger(t *testing.T) {
	tree := func(tag, service string) review.Tree {
		unit := review.Unit{Instance: objectdiff.Instance{Kind: "Shop", Namespace: "shop", Name: "web"}, Path: "web.yaml"}
		for kind, manifest := range map[string]map[string]any{
			"Deployment": {"apiVersion": "apps/v1", "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "web", "image": "web:" + tag}}}}}},
			"Service": {"apiVersion": "v1", "spec": map[string]any{"type": service}},
		} {
			manifest["kind"], manifest["metadata"] = kind, map[string]any{"name": "web", "namespace": "shop"}
			objects, err := objectdiff.FromManifest(manifest, "web.yaml")
			if err != nil {
				t.Fatal(err)
			}
			unit.Objects = append(unit.Objects, objects...)
		}
		return review.Tree{Units: []review.Unit{unit}}
	}
	r, err := review.New(tree("1.4.0", "LoadBalancer"), tree("1.5.0", "ClusterIP"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "type LoadBalancer → ClusterIP and 1 more field in Shop shop/web"
	if len(r.Groups) != 1 || r.Groups[0].Title != want {
		t.Errorf("groups %+v; want one, %q", r.Groups, want)
	}
}
