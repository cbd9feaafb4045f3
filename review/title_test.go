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

// The title of a new tag names the image: an instance may have several.
func TestTitleNamesImage(t *testing.T) {
	tree := func(image string) review.Tree {
		objects, err := objectdiff.FromManifest(map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "cache", "namespace": "shop"},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "cache", "image": image}}}}, "cache.yaml")
		if err != nil {
			t.Fatal(err)
		}
		in := objectdiff.Instance{Kind: "Pod", Namespace: "shop", Name: "cache"}
		return review.Tree{Units: []review.Unit{{Instance: in, Path: "cache.yaml", Objects: objects}}}
	}
	const a, b = "aaaaaaaaaa", "bbbbbbbbbb"
	for _, c := range []struct{ before, after, want string }{
		{"redis:8", "redis:8.2", "image redis 8 → 8.2"},
		{"registry.example:5000/team/redis:8", "registry.example:5000/team/redis:8.2", "image redis 8 → 8.2"},
		{"team/redis@sha256:" + a, "team/redis@sha256:" + b, "image redis " + a + " → " + b},
		{"redis:8", "valkey:8", "image redis:8 → valkey:8"},
	} {
		r, err := review.New(tree(c.before), tree(c.after), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.want + " in Pod shop/cache"; len(r.Groups) != 1 || r.Groups[0].Title != want {
			t.Errorf("groups %+v; want one, %q", r.Groups, want)
		}
	}
}
