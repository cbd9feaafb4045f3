package gitops

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

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

// TestManifests syncs plain manifests in place of graphs: Flux applies and judges them itself.
func TestManifests(t *testing.T) {
	e := start(t)
	r := newRepository(t)
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	process.PequodIn(t, r.dir, 0, "render", "-f", "apps", "--format", "resources", "--annotate", "flux", "--output-dir", "graphs", "--prune")
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	first := r.commit(t, "Manifests")
	e.Apply(t, documented(t, "clusters/flux.yaml", "https://git.example.com/shop/deploy", r.url, "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.synced(t, "shop", first)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
}
