package gitops

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/process"
)

// TestBundle follows releases in a registry: the first one to Ready, a newer one, which a range of
// versions selects, and a rollback to the first.
func TestBundle(t *testing.T) {
	e := start(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	deploy := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/shop/deploy"
	r := newRepository(t)
	release := func(version, image string) {
		t.Helper()
		r.write(t, "apps/web.yaml", service("web", image))
		r.commit(t, version)
		process.PequodIn(t, r.dir, 0, "push", deploy+":"+version, "-f", "apps", "--rbac", "--registry-plain-http")
	}
	release("1.4.0", "ghcr.io/shop/web:1.4.0")

	e.Apply(t, documented(t, "access/account.yaml"))
	e.Apply(t, documented(t, "clusters/flux-bundle.yaml",
		"url: oci://registry.example.com/shop/deploy", "insecure: true\n  url: "+deploy, "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.is(t, kustomizations, "Kustomization", runtime, "shop", "True", "1.4.0@sha256:")
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	release("1.5.0", "ghcr.io/shop/web:1.5.0")
	e.request(t, "source.toolkit.fluxcd.io/v1", "OCIRepository", runtime, "shop")
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
	e.is(t, kustomizations, "Kustomization", runtime, "shop", "True", "1.5.0@sha256:")

	e.merge(t, "source.toolkit.fluxcd.io/v1", "OCIRepository", runtime, "shop", `{"spec": {"ref": {"semver": "1.4.x"}}}`)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	e.is(t, kustomizations, "Kustomization", runtime, "shop", "True", "1.4.0@sha256:")
}

// TestManifests syncs plain manifests in place of graphs. Flux applies them in its own order of kinds, and waits
// for none before the next: the Service comes before the Deployment that it depends on, and stays although
// that Deployment is never available.
func TestManifests(t *testing.T) {
	e := start(t)
	r := newRepository(t)
	manifests := func(image string) string {
		t.Helper()
		r.write(t, "apps/web.yaml", service("web", image))
		process.PequodIn(t, r.dir, 0, "render", "-f", "apps", "--format", "resources", "--annotate", "flux", "--output-dir", "graphs", "--prune")
		return r.commit(t, image)
	}
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	manifests("ghcr.io/shop/web:never-ready")
	const dependsOn = "config.kubernetes.io/depends-on: apps/namespaces/shop/Deployment/web\n"
	if text := r.read(t, "graphs/shop/service-web.yaml"); !strings.Contains(text, dependsOn) {
		t.Fatalf("the Service doesn't depend on the Deployment:\n%s", text)
	}
	e.Apply(t, r.flux(t, "timeout: 10m", "timeout: 30s"))
	k := e.fails(t, "shop", "HealthCheckFailed", "timeout waiting for: [Deployment/shop/web status: 'InProgress']")
	if revision := applied(k); revision != "" {
		t.Errorf("%s is applied, although its Deployment is not available", revision)
	}
	if _, err := e.Client.CoreV1().Services("shop").Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Errorf("the Service, for which Flux doesn't wait: %v", err)
	}
	in := *e.Cluster
	in.Namespace = runtime
	in.AwaitEvent(t, patience, "Kustomization", "shop", "Progressing", "Service/shop/web created\nDeployment/shop/web created")

	e.synced(t, "shop", manifests("ghcr.io/shop/web:1.4.0"))
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
}
