package applier_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

func stateLines(t *testing.T, state *applier.State, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"not ready"}
	if state.Ready {
		lines[0] = "ready"
	}
	lines[0] += " by " + string(state.Source)
	if state.Cause != "" {
		lines[0] += ": " + state.Cause
	}
	for _, n := range state.Nodes {
		line := n.ID + ": " + string(n.Phase)
		if n.ID == "" {
			line = n.Key.Kind + " " + n.Key.Name + line
		}
		for _, text := range []string{n.Reason, n.Message} {
			if text != "" {
				line += "; " + text
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestStatus(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	rg := parse(t, c, "web", plannedGraph)
	check := func(what string, want []string, state *applier.State, err error) {
		t.Helper()
		if diff := cmp.Diff(want, stateLines(t, state, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if _, err := a.StatusOf(t.Context(), owner); !errors.Is(err, applier.ErrNoGraph) {
		t.Errorf("a graph that there isn't: %v", err)
	}
	state, err := a.Status(t.Context(), rg)
	check("nothing is applied", []string{
		"not ready by given",
		"config: Pending; isn't applied",
		"deployment: Blocked; waits for config",
		"service: Pending; isn't applied",
		"late: Blocked; waits for deployment, which waits for config",
	}, state, err)

	applied(t, a, rg)
	ready := []string{"ready by given", "config: Ready", "deployment: Ready", "service: Ready", "late: Ready"}
	state, err = a.Status(t.Context(), rg)
	check("all is ready", ready, state, err)
	if diff := cmp.Diff([]string{"deployment", "service"}, state.Nodes[3].Needs); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	state, err = a.StatusOf(t.Context(), owner)
	check("by the inventory", []string{"ready by inventory", "config: Ready", "service: Ready", "deployment: Ready", "late: Ready"}, state, err)

	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"data": {"a": "x"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	changed := parse(t, c, "web", strings.NewReplacer("port: 80", "port: 81").Replace(plannedGraph[:strings.Index(plannedGraph, "- id: late")]))
	state, err = a.Status(t.Context(), changed)
	check("drift and another graph", []string{
		"not ready by given",
		"config: Pending; was changed by others since it was applied",
		"deployment: Ready",
		"service: Pending; differs from the graph",
	}, state, err)
}

func TestStatusLeft(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	applied(t, a, parse(t, c, "two", `
nodes:
- id: a
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- id: b
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`))
	state, err := a.Status(t.Context(), parse(t, c, "two", "nodes:\n- id: a\n  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"))
	want := []string{"not ready by given", "a: Ready", "ConfigMap b: Pending; left the graph; the next apply removes it"}
	if diff := cmp.Diff(want, stateLines(t, state, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Get(t, "v1", "ConfigMap", "b").GetDeletionTimestamp() != nil {
		t.Error("a status removed an object")
	}
}

func TestStatusCause(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	rg := parse(t, c, "bad", strings.Replace(plannedGraph[:strings.Index(plannedGraph, "- id: service")], "image: nginx", "image: \"app:missing\"", 1))
	if _, err := a.Apply(t.Context(), rg, applier.Options{Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		state, err := a.Status(ctx, rg)
		if err != nil {
			return err
		}
		for _, n := range state.Nodes {
			if n.ID == "deployment" && strings.Contains(n.Message, "can't be pulled") {
				return nil
			}
		}
		return fmt.Errorf("no cause in %q", stateLines(t, state, nil))
	})
}

func remove(t *testing.T, c *harness.Cluster) error {
	client, err := c.Resource("platform.pequod.io/v1alpha1", "ResourceGraph", "")
	if err != nil {
		return err
	}
	return client.Delete(t.Context(), "web", metav1.DeleteOptions{})
}

// TestStatusOfResourceGraph reads the graph from the cluster if it exists there.
func TestStatusOfResourceGraph(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t) // with a CRD that other tests must not see
	a := newApplier(t, c)
	definition, err := os.ReadFile(filepath.Join("..", "config", "crd", "platform.pequod.io_resourcegraphs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(definition))
	c.Apply(t, `
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Web, name: web}
  platformRef: {module: web}
  renderHash: x
  graph:
    nodes:
    - id: config
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
`)
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	check := func(cause, config string) {
		t.Helper()
		state, err := a.StatusOf(t.Context(), owner)
		if diff := cmp.Diff([]string{"not ready by cluster" + cause, "config: " + config}, stateLines(t, state, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	change := func(patch string, subresource ...string) {
		t.Helper()
		client, err := c.Resource("platform.pequod.io/v1alpha1", "ResourceGraph", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...); err != nil {
			t.Fatal(err)
		}
	}
	const absent = "Pending; isn't applied"
	check(": no applier has seen it yet", absent)
	// The status of the applier counts only for the generation that it observed.
	generation := func() int64 { return c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "web").GetGeneration() }
	says := func(node string) string {
		return fmt.Sprintf(`{"status": {"observedGeneration": %d, "nodeStates": %s, "conditions": [
			{"type": "Stalled", "status": "True", "reason": "X", "message": "there is no account", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`, generation(), node)
	}
	change(says("{}"), "status")
	check(": there is no account", absent)
	change(says(`{"config": {"phase": "Failed", "message": "is forbidden"}}`), "status")
	check("", "Failed; is forbidden")
	change(`{"spec": {"deletionPolicy": "Delete"}}`)
	check(": the applier hasn't seen this revision yet", absent)
	change(`{"metadata": {"labels": {"pequod.io/paused": "true"}}}`)
	check(": is paused", absent)
	change(`{"spec": {"suspend": true}}`)
	check(": is suspended", absent)
	change(`{"metadata": {"finalizers": ["example.com/held"]}}`)
	if err := remove(t, c); err != nil {
		t.Fatal(err)
	}
	check(": is being deleted", absent)
	change(`{"metadata": {"finalizers": null}}`)
	if _, err := a.StatusOf(t.Context(), inventory.Owner{Namespace: c.Namespace, Name: "other"}); !errors.Is(err, applier.ErrNoGraph) {
		t.Errorf("a graph that there isn't: %v", err)
	}
}
