package gitops

import (
	"context"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestArgoBundle follows releases in a registry: the first one to Healthy, a newer one, and a rollback to the
// first.
func TestArgoBundle(t *testing.T) {
	e := startArgo(t, t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	deploy := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/shop/deploy"
	r := newRepository(t)
	for _, version := range []string{"1.4.0", "1.5.0"} {
		r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:"+version))
		r.commit(t, version)
		process.PequodIn(t, r.dir, 0, "push", deploy+":"+version, "-f", "apps", "--rbac", "--registry-plain-http")
	}
	// The registry of the test has no TLS.
	e.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: argocd, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: oci, url: "`+deploy+`", insecureOCIForceHttp: "true"}`)
	e.Apply(t, documented(t, "access/account.yaml"))
	e.Apply(t, documented(t, "clusters/argocd-bundle.yaml", "oci://registry.example.com/shop/deploy", deploy))
	first := e.becomes(t, "shop", "Synced", "Healthy", "sha256:").Status.Sync.Revision
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	e.merge(t, "argoproj.io/v1alpha1", "Application", argocd, "shop", `{"spec": {"source": {"targetRevision": "1.5.0"}}}`)
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
	e.merge(t, "argoproj.io/v1alpha1", "Application", argocd, "shop", `{"spec": {"source": {"targetRevision": "1.4.0"}}}`)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	e.becomes(t, "shop", "Synced", "Healthy", first)
}

// TestArgoPlugin has the repo server ask the plugin of docs/gitops.md for what instances in git render to. A
// wrong instance is reported at its line, and changes nothing.
func TestArgoPlugin(t *testing.T) {
	// The path of a socket has at most 107 bytes.
	home, err := os.MkdirTemp("", "argocd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) }) // what stays is in the temporary directory
	e := startArgo(t, home)
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, "plugin.yaml"), []byte(documented(t, "clusters/argocd-plugin.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	e.component(t, []string{
		"PATH=" + filepath.Dir(process.Path(t, "pequod")) + ":" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + t.TempDir(),
		"ARGOCD_PLUGINSOCKFILEPATH=" + home, "ARGOCD_CMP_WORKDIR=" + t.TempDir(),
	}, "argocd-cmp-server", "--config-dir-path="+config)
	harness.Eventually(t, patience, func(context.Context) error {
		conn, err := net.Dial("unix", filepath.Join(home, "pequod.sock"))
		if err == nil {
			err = conn.Close()
		}
		return err
	})

	r := newRepository(t)
	r.write(t, "pequod.yaml", "filename: [apps]\noutput-dir: graphs\n")
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.render(t)
	r.roles(t)
	e.Apply(t, documented(t, "access/account.yaml")+"---\n"+r.read(t, "access/roles.yaml"))
	if err := os.RemoveAll(filepath.Join(r.dir, "graphs")); err != nil {
		t.Fatal(err)
	}
	first := r.commit(t, "web 1.4.0")
	e.Apply(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source: {repoURL: "`+r.url+`", targetRevision: main, path: .}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [ServerSideApply=true]}`)
	e.becomes(t, "shop", "Synced", "Healthy", first)
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")

	// A wrong instance, and its repair.
	r.write(t, "apps/web.yaml", strings.Replace(service("web", "ghcr.io/shop/web:1.5.0"), "8080", "70000", 1))
	r.commit(t, "A port that doesn't exist")
	a := e.refresh(t, "shop", "normal")
	if c := a.Status.Conditions; len(c) != 1 || c[0].Type != "ComparisonError" || !strings.Contains(c[0].Message, "apps/web.yaml:4:") {
		t.Errorf("conditions of the Application: %+v", c)
	}
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.5.0"))
	repaired := r.commit(t, "Repair")
	e.refresh(t, "shop", "normal")
	e.becomes(t, "shop", "Synced", "Healthy", repaired)
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
}
