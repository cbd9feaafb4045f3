package gitops

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
)

// service is an instance.
func service(name, image string) string {
	return fmt.Sprintf(`apiVersion: pequod.io/v1alpha1
kind: WebService
metadata: {name: %s, namespace: shop}
spec: {image: %q, port: 8080}
`, name, image)
}

// dependency breaks the directory that the graphs depend on, and repairs it. Flux applies no graph meanwhile.
func (e *env) dependency(t *testing.T, r *repository) {
	t.Helper()
	roles := r.read(t, "access/roles.yaml")
	r.write(t, "access/roles.yaml", "a: b: c\n")
	r.commit(t, "Broken roles")
	// The namespace of the graphs exists, so that nothing else stops Flux.
	e.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	e.Apply(t, r.flux(t, "timeout: 10m", "timeout: 30s"))
	e.fails(t, "shop-access", "BuildFailed", "roles.yaml")
	status, reason, message := condition(e.handled(t, "shop"), "Ready")
	if status != "False" || reason != "DependencyNotReady" || message != "dependency 'flux-system/shop-access' is not ready" {
		t.Errorf("the Kustomization whose dependency failed: %s, %s, %q", status, reason, message)
	}
	if list, err := e.Await(t, platform, "ResourceGraph", "shop").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d graphs, although the dependency failed: %v", len(list.Items), err)
	}
	r.write(t, "access/roles.yaml", roles)
	r.commit(t, "Two web services")
	e.request(t, "source.toolkit.fluxcd.io/v1", "GitRepository", runtime, "shop")
}

// steer changes a graph in the cluster, as kubectl does and as a user does who wants Flux to leave the change.
func (e *env) steer(t *testing.T) {
	t.Helper()
	const annotation, label = "reconcile.fluxcd.io/requestedAt", "pequod.io/paused"
	name := e.graph(t, "web").GetName()
	handled := func(token string) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if last, _, _ := unstructured.NestedString(e.graph(t, "web").Object, "status", "reconcileRequestedAt"); last != token {
				return fmt.Errorf("handled %q, want %q", last, token)
			}
			return nil
		})
	}

	// A request is answered at once, and Flux removes it with everything else that kubectl wrote.
	handled(e.request(t, platform, "ResourceGraph", "shop", name))
	e.merge(t, platform, "ResourceGraph", "shop", name, `{"metadata": {"labels": {"pequod.io/paused": "true"}}}`)
	e.handled(t, "shop")
	if g := e.graph(t, "web"); g.GetLabels()[label] != "" || g.GetAnnotations()[annotation] != "" {
		t.Errorf("Flux has left what kubectl wrote: %v, %v", g.GetLabels(), g.GetAnnotations())
	}

	// What this field manager wrote stays.
	const manager = "flux-client-side-apply"
	e.mergeAs(t, manager, platform, "ResourceGraph", "shop", name, fmt.Sprintf(`{"metadata": {"annotations": {%q: "now"}}}`, annotation))
	handled("now")
	e.mergeAs(t, manager, platform, "ResourceGraph", "shop", name, `{"metadata": {"labels": {"pequod.io/paused": "true"}}}`)
	e.handled(t, "shop")
	if g := e.graph(t, "web"); g.GetLabels()[label] != "true" || g.GetAnnotations()[annotation] != "now" {
		t.Errorf("Flux has removed what %s wrote: %v, %v", manager, g.GetLabels(), g.GetAnnotations())
	}
	e.mergeAs(t, manager, platform, "ResourceGraph", "shop", name, `{"metadata": {"labels": {"pequod.io/paused": null}}}`)
}

// TestGit follows a repository through its life: a dependency that fails, git to Ready, an update, a rollback
// by revert, drift on both sides, suspension, a removed instance, a graph that stalls, and its repair.
func TestGit(t *testing.T) {
	e := start(t)
	r := newRepository(t)
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.write(t, "apps/api.yaml", service("api", "ghcr.io/shop/api:2.0.0"))
	r.render(t)
	r.roles(t)
	if code := e.applier.Stop(t); code != 0 {
		t.Fatalf("the applier ended with %d", code)
	}
	e.dependency(t, r)

	// The applier is away: Flux applies the graphs, and waits for them in vain.
	first := r.head(t)
	k := e.fails(t, "shop", "HealthCheckFailed", "timeout waiting for: [", "ResourceGraph/shop/api-", "ResourceGraph/shop/web-0d114651 status: 'InProgress'")
	if revision := applied(k); revision != "" {
		t.Errorf("%s is applied, although no applier has executed its graphs", revision)
	}
	e.merge(t, kustomizations, "Kustomization", runtime, "shop", `{"spec": {"timeout": "10m"}}`)
	e.startApplier()
	e.synced(t, "shop", first)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	if err := ready(e.graph(t, "web"), "True", ""); err != nil {
		t.Errorf("the Kustomization is ready, and the graph isn't: %v", err)
	}

	// An update, and its revert.
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.5.0"))
	r.render(t)
	e.synced(t, "shop", r.commit(t, "web 1.5.0"))
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
	r.git(t, "revert", "--no-edit", "HEAD")
	e.synced(t, "shop", r.head(t))
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	// Drift of an object is the applier's, and drift of a graph is Flux's.
	e.merge(t, "apps/v1", "Deployment", "shop", "web", `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "evil"}]}}}}`)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	e.merge(t, platform, "ResourceGraph", "shop", e.graph(t, "web").GetName(), `{"spec": {"suspend": true}}`)
	e.handled(t, "shop")
	if suspended, _, _ := unstructured.NestedBool(e.graph(t, "web").Object, "spec", "suspend"); suspended {
		t.Error("Flux has left a graph suspended")
	}
	e.is(t, kustomizations, "Kustomization", runtime, "shop", "True", "")

	e.steer(t)

	// A suspended Kustomization changes nothing, although Flux sees the new revision and the request.
	e.merge(t, kustomizations, "Kustomization", runtime, "shop", `{"spec": {"suspend": true}}`)
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.6.0"))
	r.write(t, "apps/api.yaml", "")
	r.render(t)
	before := r.head(t)
	removed := r.commit(t, "web 1.6.0, no api")
	e.synced(t, "shop-access", removed)
	if revision := applied(e.handled(t, "shop")); revision != "main@sha1:"+before {
		t.Errorf("the suspended Kustomization has applied %s, want %s", revision, before)
	}
	e.graph(t, "api")
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	// Then the removed instance goes, with its objects before it.
	e.merge(t, kustomizations, "Kustomization", runtime, "shop", `{"spec": {"suspend": false}}`)
	e.synced(t, "shop", removed)
	e.image(t, "web", "ghcr.io/shop/web:1.6.0")
	graphs, deployments := e.Await(t, platform, "ResourceGraph", "shop"), e.Await(t, "apps/v1", "Deployment", "shop")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if list, err := graphs.List(ctx, metav1.ListOptions{LabelSelector: "pequod.io/instance=api"}); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d graphs: %w", len(list.Items), err)
		}
		if _, err := deployments.Get(ctx, "api", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("the graph is gone, and its Deployment isn't: %v", err)
		}
		return nil
	})

	// A graph that can't be executed fails its Kustomization at once, with its message.
	e.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: taken, namespace: shop}, spec: {ports: [{port: 1, name: http}]}}`)
	r.write(t, "apps/taken.yaml", service("taken", "ghcr.io/shop/taken:1.0.0"))
	r.render(t)
	r.commit(t, "taken")
	e.request(t, "source.toolkit.fluxcd.io/v1", "GitRepository", runtime, "shop")
	e.is(t, kustomizations, "Kustomization", runtime, "shop", "False", "ResourceGraph/shop/taken-")
	r.git(t, "revert", "--no-edit", "HEAD")
	e.synced(t, "shop", r.head(t))
}
