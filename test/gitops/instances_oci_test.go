package gitops

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	fluxoci "github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/registry"
)

// TestInstancesOCI lets the manager render the instances of an artifact that flux push artifact has made, and
// Flux apply their graphs: the first version to Ready, a newer one, and one with a mistake.
func TestInstancesOCI(t *testing.T) {
	e := start(t)
	e.installManager(t)()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	deploy := strings.TrimPrefix(server.URL, "http://") + "/shop/deploy"
	r := newRepository(t)
	// push writes the files to the registry as flux push artifact does, and returns the revision in Flux.
	push := func(version string) string {
		t.Helper()
		pushed, err := fluxoci.NewClient(fluxoci.DefaultOptions()).Push(t.Context(), deploy+":"+version, r.dir,
			fluxoci.WithPushIgnorePaths(".git/"), fluxoci.WithPushMetadata(fluxoci.Metadata{Source: r.url, Revision: version}))
		if err != nil {
			t.Fatal(err)
		}
		_, digest, _ := strings.Cut(pushed, "@")
		return version + "@" + digest
	}
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.rolesOfInstances(t)
	first := push("1.4.0")
	e.Apply(t, documented(t, "clusters/flux-instances.yaml", "GitRepository", "OCIRepository", "ref: {branch: main}", "ref: {semver: 1.x}",
		"url: https://git.example.com/shop/deploy", "insecure: true\n  url: oci://"+deploy, "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.applied(t, e.renderedFrom(t, "OCIRepository", first))
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.5.0"))
	e.applied(t, e.renderedFrom(t, "OCIRepository", push("1.5.0")))
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")

	r.write(t, "apps/web.yaml", strings.Replace(service("web", "ghcr.io/shop/web:1.6.0"), "8080", "many", 1))
	push("1.6.0")
	e.request(t, "source.toolkit.fluxcd.io/v1", "OCIRepository", runtime, "shop")
	e.is(t, platform, "InstanceSource", runtime, "shop", "False", "apps/web.yaml:4:")
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
}
