package review_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/forecast"
)

// Instances with the same change are one group, but an autoscaler may scale only one of them.
func TestDangersOfAllInstances(t *testing.T) {
	const instances, scaled = 4, "web-2"
	tree := func(replicas int64) review.Tree {
		var tree review.Tree
		add := func(kind, name string, manifest map[string]any) {
			manifest["kind"], manifest["metadata"] = kind, map[string]any{"name": name, "namespace": "shop"}
			objects, err := objectdiff.FromManifest(manifest, name+".yaml")
			if err != nil {
				t.Fatal(err)
			}
			in := objectdiff.Instance{Kind: kind, Namespace: "shop", Name: name, File: kind + name + ".yaml"}
			tree.Units = append(tree.Units, review.Unit{Instance: in, Path: in.File, Objects: objects})
		}
		for i := range instances {
			add("Deployment", fmt.Sprintf("web-%d", i), map[string]any{"apiVersion": "apps/v1", "spec": map[string]any{"replicas": replicas}})
		}
		add("HorizontalPodAutoscaler", scaled, map[string]any{"apiVersion": "autoscaling/v2", "spec": map[string]any{
			"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": scaled}}})
		return tree
	}
	r, err := review.New(tree(2), tree(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 1 || len(r.Groups[0].Instances) != instances {
		t.Fatalf("groups %v; want one", r.Groups)
	}
	if len(r.Dangers) != 1 || r.Dangers[0].Rule != string(forecast.Autoscaler) || r.Dangers[0].Object.Name != scaled || r.Dangers[0].Others != 0 {
		t.Errorf("dangers %+v; want only that an autoscaler scales %s", r.Dangers, scaled)
	}
}

// The end of the Pods of a removed workload is no danger beside the removal, but the verdict
// and --fail-on restarts count it. A removed Service ends no Pods.
func TestRemovedPodsEnd(t *testing.T) {
	var before review.Tree
	for kind, manifest := range map[string]map[string]any{
		"Deployment": {"apiVersion": "apps/v1", "spec": map[string]any{"replicas": int64(2)}},
		"Service":    {"apiVersion": "v1", "spec": map[string]any{"clusterIP": "10.0.0.7"}},
	} {
		manifest["kind"], manifest["metadata"] = kind, map[string]any{"name": "web", "namespace": "shop"}
		objects, err := objectdiff.FromManifest(manifest, kind)
		if err != nil {
			t.Fatal(err)
		}
		in := objectdiff.Instance{Kind: kind, Namespace: "shop", Name: "web", File: kind}
		before.Units = append(before.Units, review.Unit{Instance: in, Path: kind, Objects: objects})
	}
	r, err := review.New(before, review.Tree{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Verdict(), "0 to add, 0 to change, 2 to remove · 1 stop"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
	if got := r.Count(review.Restarts); got != 1 {
		t.Errorf("%d objects restart Pods, want 1", got)
	}
	if len(r.Dangers) != 0 {
		t.Errorf("dangers %+v, want none", r.Dangers)
	}
}

// The verdict counts a removed object that Pods need apart from changes that they don't notice.
func TestVerdictOfNeededObject(t *testing.T) {
	var before review.Tree
	for kind, manifest := range map[string]map[string]any{
		"ServiceAccount": {"apiVersion": "v1"},
		"Pod":            {"apiVersion": "v1", "spec": map[string]any{"serviceAccountName": "web"}},
	} {
		manifest["kind"], manifest["metadata"] = kind, map[string]any{"name": "web", "namespace": "shop"}
		objects, err := objectdiff.FromManifest(manifest, kind)
		if err != nil {
			t.Fatal(err)
		}
		in := objectdiff.Instance{Kind: kind, Namespace: "shop", Name: "web", File: kind}
		before.Units = append(before.Units, review.Unit{Instance: in, Path: kind, Objects: objects})
	}
	after := review.Tree{Units: slices.DeleteFunc(slices.Clone(before.Units), func(u review.Unit) bool { return u.Kind == "ServiceAccount" })}
	r, err := review.New(before, after, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Verdict(), "0 to add, 0 to change, 1 to remove · 1 removed object that Pods need"; got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}
