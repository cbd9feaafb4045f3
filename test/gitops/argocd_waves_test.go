package gitops

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/process"
)

// hooks is a third source of the Application.
const hooks = `directory: {recurse: true}
  - repoURL: %s
    targetRevision: main
    path: hooks`

// preSync is a hook in a namespace that exists before the first sync.
const preSync = `apiVersion: batch/v1
kind: Job
metadata:
  name: before
  namespace: default
  annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: hook, image: hook}]}}}
`

// wave1 is an object in a later wave than the graphs.
const wave1 = `apiVersion: v1
kind: ConfigMap
metadata: {name: after, namespace: shop, annotations: {argocd.argoproj.io/sync-wave: "1"}}
`

// TestArgoWaves syncs hooks and a later wave around a graph: the hook before the sync ends before the graph
// is created, and what comes after the graph waits until the applier is done with it, or isn't created
// if the graph stalls.
func TestArgoWaves(t *testing.T) {
	e := startArgo(t, t.TempDir())
	if code := e.applier.Stop(t); code != 0 {
		t.Fatalf("the applier ended with %d", code)
	}
	r := newRepository(t)
	r.write(t, "hooks/before.yaml", preSync)
	r.write(t, "hooks/smoke.yaml", documented(t, "hooks/smoke.yaml"))
	r.write(t, "hooks/wave.yaml", wave1)
	r.services(t, map[string]string{"web": "ghcr.io/shop/web:1.4.0"})
	e.Apply(t, documented(t, "clusters/argocd.yaml", "https://git.example.com/shop/deploy", r.url,
		"directory: {recurse: true}", fmt.Sprintf(hooks, r.url)))

	// The applier is away: the sync waits for the graph.
	e.operation(t, "shop", "Running", "waiting for healthy state of platform.pequod.io/ResourceGraph/web-")
	absent := func() {
		t.Helper()
		if _, err := e.Client.CoreV1().ConfigMaps("shop").Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the object of the later wave is there before the graph is ready: %v", err)
		}
		if _, err := e.Client.BatchV1().Jobs("shop").Get(t.Context(), "smoke", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the hook after the sync is there before the graph is ready: %v", err)
		}
	}
	absent()
	before, err := e.Client.BatchV1().Jobs("default").Get(t.Context(), "before", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created := e.graph(t, "web").GetCreationTimestamp(); before.Status.CompletionTime == nil || created.Before(before.Status.CompletionTime) {
		t.Errorf("the graph was created at %s, and the hook before the sync ended at %s", created, before.Status.CompletionTime)
	}

	e.startApplier()
	e.operation(t, "shop", "Succeeded", "")
	e.becomes(t, "shop", "Synced", "Healthy", r.head(t))
	if _, err := e.Client.CoreV1().ConfigMaps("shop").Get(t.Context(), "after", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	smoke, err := e.Client.BatchV1().Jobs("shop").Get(t.Context(), "smoke", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if smoke.Status.Succeeded != 1 {
		t.Errorf("the sync has succeeded, and its hook hasn't: %+v", smoke.Status)
	}

	// A graph that stalls fails the sync, which is repeated, and nothing comes after it.
	e.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: taken, namespace: shop}, spec: {ports: [{port: 1, name: http}]}}`)
	r.write(t, "apps/taken.yaml", service("taken", "ghcr.io/shop/taken:1.0.0"))
	r.render(t)
	r.roles(t)
	r.write(t, "hooks/wave.yaml", strings.Replace(wave1, "name: after", "name: later", 1))
	r.commit(t, "taken")
	e.refresh(t, "shop", "normal")
	e.operation(t, "shop", "Running", "one or more synchronization tasks completed unsuccessfully")
	a := e.becomes(t, "shop", "OutOfSync", "Degraded", r.head(t))
	if _, message := a.resource("ResourceGraph", "taken-"); !strings.Contains(message, "service: exists already") {
		t.Errorf("the message of the graph: %q", message)
	}
	if _, err := e.Client.CoreV1().ConfigMaps("shop").Get(t.Context(), "later", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the object after a graph that stalls: %v", err)
	}
}

// TestArgoManifests syncs plain manifests in place of graphs, in the order of the graph: Argo CD waits for the
// Deployment before it applies the Service.
func TestArgoManifests(t *testing.T) {
	e := startArgo(t, t.TempDir())
	r := newRepository(t)
	manifests := func(image string) string {
		t.Helper()
		r.write(t, "apps/web.yaml", service("web", image))
		process.PequodIn(t, r.dir, 0, "render", "-f", "apps", "--format", "resources", "--annotate", "argocd", "--output-dir", "graphs", "--prune")
		return r.commit(t, image)
	}
	for _, file := range []string{"access/account.yaml", "access/kustomization.yaml"} {
		r.write(t, file, strings.ReplaceAll(documented(t, file), "- roles.yaml\n", ""))
	}
	manifests("ghcr.io/shop/web:never-ready")
	e.Apply(t, documented(t, "clusters/argocd.yaml", "https://git.example.com/shop/deploy", r.url))
	e.operation(t, "shop", "Running", "waiting for healthy state of apps/Deployment/web")
	if _, err := e.Client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service is there before the Deployment is available: %v", err)
	}
	// As argocd app terminate-op does: a sync that waits isn't replaced by a newer commit.
	second := manifests("ghcr.io/shop/web:1.4.0")
	e.merge(t, "argoproj.io/v1alpha1", "Application", argocd, "shop", `{"status": {"operationState": {"phase": "Terminating"}}}`)
	e.refresh(t, "shop", "normal")
	e.becomes(t, "shop", "Synced", "Healthy", second)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	if _, err := e.Client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
