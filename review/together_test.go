package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/markdown"
	"github.com/pequod-io/pequod/review/text"
)

// deployments returns a tree of Deployments web-0, web-1, ... with these replicas. autoscaled
// are those with an autoscaler, and edit changes each of them.
func deployments(t *testing.T, replicas []int64, autoscaled map[int]bool, edit func(i int, spec map[string]any)) review.Tree {
	t.Helper()
	var tree review.Tree
	add := func(manifest map[string]any) {
		objects, err := objectdiff.FromManifest(manifest, "file.yaml")
		if err != nil {
			t.Fatal(err)
		}
		k := objects[0].Key
		in := objectdiff.Instance{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, File: k.Kind + k.Name + ".yaml"}
		tree.Units = append(tree.Units, review.Unit{Instance: in, Path: in.File, Objects: objects})
	}
	for i, n := range replicas {
		name := fmt.Sprintf("web-%d", i)
		spec := map[string]any{"replicas": n, "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "app", "image": "app:1"}}}}}
		if edit != nil {
			edit(i, spec)
		}
		metadata := map[string]any{"name": name, "namespace": "shop"}
		add(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
		if autoscaled[i] {
			add(map[string]any{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": map[string]any{
				"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
		}
	}
	return tree
}

// A group shows the consequences of all its instances, and not those of the first one.
func TestTogether(t *testing.T) {
	image := func(_ int, spec map[string]any) {
		containers := spec["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		containers[0].(map[string]any)["image"] = "app:2"
	}
	for _, test := range []struct {
		name     string
		replicas []int64
		scaled   map[int]bool
		edit     func(int, map[string]any)
		want     []string
	}{
		{"equal", []int64{3, 3, 3, 3}, nil, image, []string{"4 rolling restarts of 12 Pods (3 each)"}},
		{"different", []int64{2, 5, 3}, nil, image, []string{"3 rolling restarts of 10 Pods (2–5 each)"}},
		{"single", []int64{2}, nil, image, []string{"rolling restart of 2 Pods"}},
		{"only another instance has it", []int64{2, 2, 2}, map[int]bool{1: true},
			func(_ int, spec map[string]any) { spec["replicas"] = int64(4) },
			[]string{"fights an autoscaler (in 1 of 3 instances)", "in place (in 2 of 3 instances)"}},
		{"end", []int64{3, 3}, nil, func(_ int, spec map[string]any) { spec["replicas"] = int64(0) },
			[]string{"end of 6 Pods (3 each)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := review.New(deployments(t, test.replicas, test.scaled, nil), deployments(t, test.replicas, test.scaled, test.edit), nil)
			if err != nil {
				t.Fatal(err)
			}
			var titles []string
			for _, c := range r.Together(r.Groups[0])[0] {
				titles = append(titles, c.Title())
			}
			if diff := cmp.Diff(test.want, titles); diff != "" {
				t.Error(diff)
			}
			var plain, comment strings.Builder
			if err := text.Write(&plain, r, nil); err != nil {
				t.Fatal(err)
			}
			if err := markdown.Write(&comment, r, 0); err != nil {
				t.Fatal(err)
			}
			for _, title := range test.want {
				if !strings.Contains(plain.String(), title+": ") || !strings.Contains(comment.String(), title) {
					t.Errorf("the skins lack %q:\n%s\n%s", title, &plain, &comment)
				}
			}
		})
	}
}
