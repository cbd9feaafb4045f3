package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
)

// services writes web services with these images, their graphs, and what the graphs need, as docs/gitops.md
// describes it, and commits everything.
func (r *repository) services(t *testing.T, images map[string]string) {
	t.Helper()
	for _, file := range []string{"access/account.yaml", "access/kustomization.yaml"} {
		r.write(t, file, documented(t, file))
	}
	for name, image := range images {
		r.write(t, "apps/"+name+".yaml", service(name, image))
	}
	r.render(t)
	r.roles(t)
	r.commit(t, "Web services")
}

// graph returns the graph of an instance.
func (e *env) graph(t *testing.T, instance string) *unstructured.Unstructured {
	t.Helper()
	list, err := e.Await(t, platform, "ResourceGraph", "shop").List(t.Context(), metav1.ListOptions{LabelSelector: "pequod.io/instance=" + instance})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d graphs of %s: %v", len(list.Items), instance, err)
	}
	return &list.Items[0]
}

// TestArgoGit follows a repository through its life in Argo CD: git to Synced and Healthy, an update, a
// rollback by revert, a suspended graph, a graph that stalls, and a removed instance.
func TestArgoGit(t *testing.T) {
	e := startArgo(t, t.TempDir())
	if code := e.applier.Stop(t); code != 0 {
		t.Fatalf("the applier ended with %d", code)
	}
	r := newRepository(t)
	r.services(t, map[string]string{"web": "ghcr.io/shop/web:1.4.0", "api": "ghcr.io/shop/api:2.0.0"})
	e.Apply(t, documented(t, "clusters/argocd.yaml", "https://git.example.com/shop/deploy", r.url))

	// The applier is away: Argo CD applies the graphs, and they aren't healthy.
	a := e.becomes(t, "shop", "Synced", "Progressing", r.head(t))
	if health, message := a.resource("ResourceGraph", "web-"); health != "Progressing" || message != "the applier hasn't seen it yet" {
		t.Errorf("health of a graph without an applier: %s, %q", health, message)
	}
	e.startApplier()
	a = e.becomes(t, "shop", "Synced", "Healthy", r.head(t))
	if health, message := a.resource("ResourceGraph", "web-"); health != "Healthy" || message == "" {
		t.Errorf("health of a ready graph: %s, %q", health, message)
	}
	if err := ready(e.graph(t, "web"), "True", ""); err != nil {
		t.Errorf("the Application is healthy, and the graph isn't ready: %v", err)
	}
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	// An update, and its revert.
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.5.0"))
	r.render(t)
	first := r.commit(t, "web 1.5.0")
	e.refresh(t, "shop", "normal")
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
	e.becomes(t, "shop", "Synced", "Healthy", first)
	r.git(t, "revert", "--no-edit", "HEAD")
	e.refresh(t, "shop", "normal")
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	e.becomes(t, "shop", "Synced", "Healthy", r.head(t))

	// A graph that can't be executed makes the Application degraded, with its message.
	e.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: taken, namespace: shop}, spec: {ports: [{port: 1, name: http}]}}`)
	r.write(t, "apps/taken.yaml", service("taken", "ghcr.io/shop/taken:1.0.0"))
	r.render(t)
	taken := r.commit(t, "taken")
	e.refresh(t, "shop", "normal")
	a = e.becomes(t, "shop", "Synced", "Degraded", taken)
	if health, message := a.resource("ResourceGraph", "taken-"); health != "Degraded" || !strings.Contains(message, "service: exists already") {
		t.Errorf("health of a stalled graph: %s, %q", health, message)
	}

	// Its repair, and an instance less: the graphs go, with their objects before them.
	r.git(t, "revert", "--no-edit", "HEAD")
	r.write(t, "apps/api.yaml", "")
	r.render(t)
	removed := r.commit(t, "No api")
	e.refresh(t, "shop", "normal")
	e.becomes(t, "shop", "Synced", "Healthy", removed)
	graphs, deployments := e.Await(t, platform, "ResourceGraph", "shop"), e.Await(t, "apps/v1", "Deployment", "shop")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if list, err := graphs.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
			return fmt.Errorf("%d graphs: %w", len(list.Items), err)
		}
		if _, err := deployments.Get(ctx, "api", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("the graph is gone, and its Deployment isn't: %v", err)
		}
		return nil
	})

	// The label that pauses a graph, in git.
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	text := r.read(t, "graphs/shop/resourcegraph.platform.pequod.io-web-0d114651.yaml")
	r.write(t, "graphs/shop/resourcegraph.platform.pequod.io-web-0d114651.yaml", strings.Replace(text, "spec:\n", "spec:\n  suspend: true\n", 1))
	suspended := r.commit(t, "Suspend web")
	e.refresh(t, "shop", "normal")
	e.becomes(t, "shop", "Synced", "Suspended", suspended)
}

// TestArgoDrift has Argo CD heal itself beside an applier that corrects drift. Each of them corrects what it
// wrote, once, and neither reacts to the other.
func TestArgoDrift(t *testing.T) {
	e := startArgo(t, t.TempDir())
	r := newRepository(t)
	r.services(t, map[string]string{"web": "ghcr.io/shop/web:1.4.0"})
	e.Apply(t, documented(t, "clusters/argocd.yaml", "https://git.example.com/shop/deploy", r.url))
	e.becomes(t, "shop", "Synced", "Healthy", r.head(t))
	deployments := e.Await(t, "apps/v1", "Deployment", "shop")
	deployment := func() *unstructured.Unstructured {
		t.Helper()
		d, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// writes are the changes of a specification since a generation.
	writes := func(o *unstructured.Unstructured, before int64) int64 { return o.GetGeneration() - before }

	// If an object of the graph is changed, the applier corrects it, and Argo CD syncs nothing.
	before, graph := deployment().GetGeneration(), e.graph(t, "web").GetGeneration()
	synced := e.refresh(t, "shop", "normal").Status
	e.merge(t, "apps/v1", "Deployment", "shop", "web", `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "evil"}]}}}}`)
	harness.Eventually(t, patience, func(context.Context) error {
		if got := writes(deployment(), before); got < 2 {
			return fmt.Errorf("%d writes of the Deployment", got)
		}
		return nil
	})
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	for range 10 {
		e.refresh(t, "shop", "normal")
	}
	if got := writes(deployment(), before); got != 2 {
		t.Errorf("%d writes of the Deployment, want somebody's and the correction", got)
	}
	if got := writes(e.graph(t, "web"), graph); got != 0 {
		t.Errorf("%d writes of the graph, want none", got)
	}
	if now := e.becomes(t, "shop", "Synced", "Healthy", r.head(t)).Status; len(now.History) != len(synced.History) {
		t.Errorf("Argo CD has synced because an object of a graph was changed: %+v", now)
	}

	// If the graph is changed, Argo CD reverts it, and the applier applies the result.
	before, graph = deployment().GetGeneration(), e.graph(t, "web").GetGeneration()
	e.patchGraph(t, "web", `[{"op": "replace", "path": "/spec/graph/nodes/0/resource/spec/template/spec/containers/0/image", "value": "evil"}]`)
	harness.Eventually(t, patience, func(context.Context) error {
		g := e.graph(t, "web")
		if got := writes(g, graph); got < 2 {
			return fmt.Errorf("%d writes of the graph", got)
		}
		return ready(g, "True", "")
	})
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	for range 10 {
		e.refresh(t, "shop", "normal")
	}
	if got := writes(e.graph(t, "web"), graph); got != 2 {
		t.Errorf("%d writes of the graph, want somebody's and the correction", got)
	}
	if got := writes(deployment(), before); got != 0 && got != 2 {
		t.Errorf("%d writes of the Deployment, want none, or one for each state of the graph", got)
	}
	e.becomes(t, "shop", "Synced", "Healthy", r.head(t))

	// Argo CD leaves alone what git doesn't say: a person can suspend a graph.
	e.patchGraph(t, "web", `[{"op": "add", "path": "/spec/suspend", "value": true}]`)
	e.becomes(t, "shop", "Synced", "Suspended", r.head(t))
	e.patchGraph(t, "web", `[{"op": "remove", "path": "/spec/suspend"}, {"op": "add", "path": "/metadata/labels/pequod.io~1paused", "value": "true"}]`)
	e.refresh(t, "shop", "hard")
	e.becomes(t, "shop", "Synced", "Suspended", r.head(t))
	e.patchGraph(t, "web", `[{"op": "remove", "path": "/metadata/labels/pequod.io~1paused"}]`)
	e.becomes(t, "shop", "Synced", "Healthy", r.head(t))
}

// patchGraph changes the graph of an instance as a user of kubectl patch does.
func (e *env) patchGraph(t *testing.T, instance, patch string) {
	t.Helper()
	client := e.Await(t, platform, "ResourceGraph", "shop")
	if _, err := client.Patch(t.Context(), e.graph(t, instance).GetName(), types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-patch"}); err != nil {
		t.Fatal(err)
	}
}
