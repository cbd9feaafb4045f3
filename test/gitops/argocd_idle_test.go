package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
)

// idle is how often an Application is compared and synced that has nothing to sync.
const idle = 100

// TestArgoIdle compares and syncs an Application repeatedly, with a graph that is ready and with all the graphs
// that the embedded modules are tested with. Argo CD never finds a difference and never changes a graph,
// whatever the applier writes to their status and metadata.
func TestArgoIdle(t *testing.T) {
	e := startArgo(t, t.TempDir())
	r := newRepository(t)
	// No golden graph has an instance or objects of this name.
	r.services(t, map[string]string{"idle": "ghcr.io/shop/idle:1.4.0"})
	for i, text := range goldenGraphs(t) {
		r.write(t, fmt.Sprintf("graphs/golden/%d.yaml", i), text)
	}
	r.commit(t, "Graphs of the modules")
	e.Apply(t, documented(t, "clusters/argocd.yaml", "https://git.example.com/shop/deploy", r.url))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		a, err := e.application(ctx, t, "shop")
		if err == nil && (a.Status.Sync.Status != "Synced" || a.Status.OperationState.Phase != "Succeeded") {
			err = fmt.Errorf("%+v", a.Status)
		}
		return err
	})
	graphs := e.Await(t, platform, "ResourceGraph", "shop")
	// The applier has seen all graphs, and given each a status and a finalizer.
	generations := map[string]int64{}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		list, err := graphs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, g := range list.Items {
			if observed, _, _ := unstructured.NestedInt64(g.Object, "status", "observedGeneration"); observed != g.GetGeneration() {
				return fmt.Errorf("the applier has not seen graph %s", g.GetName())
			}
			generations[g.GetName()] = g.GetGeneration()
		}
		return nil
	})
	if len(generations) < 10 {
		t.Fatalf("%d graphs", len(generations))
	}
	e.is(t, platform, "ResourceGraph", "shop", e.graph(t, "idle").GetName(), "True", "")
	for i := range idle {
		how := []string{"normal", "hard"}[i%2]
		if s := e.refresh(t, "shop", how).Status; s.Sync.Status != "Synced" {
			t.Fatalf("%s refresh %d: %+v", how, i, s)
		}
	}
	for i := range idle {
		if a := e.sync(t, "shop"); a.Status.OperationState.Phase != "Succeeded" || a.Status.Sync.Status != "Synced" {
			t.Fatalf("sync %d: %+v", i, a.Status)
		}
	}
	list, err := graphs.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list.Items {
		if g.GetGeneration() != generations[g.GetName()] {
			t.Errorf("graph %s: generation %d, was %d", g.GetName(), g.GetGeneration(), generations[g.GetName()])
		}
	}
	t.Logf("%d graphs, %d refreshes and %d syncs without a difference", len(list.Items), idle, idle)
}

// goldenGraphs returns the graphs that the embedded modules are tested with, in one namespace with names of
// their own.
func goldenGraphs(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../modules/platform/*/tests/*/graph.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var graphs []string
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var g unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(document), &g.Object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if g.GetKind() != "ResourceGraph" {
				continue
			}
			g.SetNamespace("shop")
			g.SetName(fmt.Sprintf("golden-%d-%s", i, g.GetName()))
			data, err := yaml.Marshal(g.Object)
			if err != nil {
				t.Fatal(err)
			}
			graphs = append(graphs, string(data))
		}
	}
	return graphs
}
