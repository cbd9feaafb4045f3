package gitops

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// manager is the manager as it is installed.
var manager = process.Program{Name: "pequod-manager", Account: "pequod-controller-manager", Manifests: config.Operator}

// installManager installs the manager beside the applier, with a Transform. It returns a function
// that starts the manager and waits until it is ready.
func (e *env) installManager(t *testing.T) (run func() *process.Process) {
	t.Helper()
	e.Apply(t, string(manager.Manifests))
	e.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: webservice, namespace: "+process.Namespace+"}, spec: {cueRef: {type: embedded, ref: webservice}}}")
	account, artifacts := e.ServiceAccount(t, process.Namespace, manager.Account), process.FreeAddress(t)
	return func() *process.Process {
		p := manager.Start(t, e.Cluster, account, "--artifact-bind-address="+artifacts, "--artifact-url=http://"+artifacts)
		p.Ready(t)
		return p
	}
}

// rolesOfInstances writes the roles for the graphs of the instances in apps to access/roles.yaml.
func (r *repository) rolesOfInstances(t *testing.T) {
	t.Helper()
	cmd := exec.Command(process.Path(t, "pequod"), "rbac", "generate", "-f", "apps", "-R")
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "access/roles.yaml", string(out))
}

// rendered makes Flux fetch the repository now, and waits until the InstanceSource has rendered a
// commit.
func (e *env) rendered(t *testing.T, commit string) *unstructured.Unstructured {
	t.Helper()
	return e.renderedFrom(t, "GitRepository", "main@sha1:"+commit)
}

// renderedFrom is rendered with the kind of the source and the revision in Flux.
func (e *env) renderedFrom(t *testing.T, source, want string) *unstructured.Unstructured {
	t.Helper()
	e.request(t, "source.toolkit.fluxcd.io/v1", source, runtime, "shop")
	client := e.Await(t, platform, "InstanceSource", runtime)
	var s *unstructured.Unstructured
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if s, err = client.Get(ctx, "shop", metav1.GetOptions{}); err != nil {
			return err
		}
		if revision, _, _ := unstructured.NestedString(s.Object, "status", "observedSourceRevision"); revision != want {
			return fmt.Errorf("%q is rendered, want %s: %v", revision, want, s.Object["status"])
		}
		return ready(s, "True", "")
	})
	return s
}

// applied waits until the Kustomization is ready with the artifact of the InstanceSource.
func (e *env) applied(t *testing.T, s *unstructured.Unstructured) {
	t.Helper()
	artifact, _, _ := unstructured.NestedString(s.Object, "status", "artifact", "revision")
	client := e.Await(t, kustomizations, "Kustomization", runtime)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		k, err := client.Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision"); got != artifact || got == "" {
			return fmt.Errorf("%q is applied, want %q: %v", got, artifact, k.Object["status"])
		}
		return ready(k, "True", "")
	})
}

// TestInstances lets the manager render the instances of a repository, and Flux apply their graphs:
// from git to Ready, an update, a mistake that changes nothing in the cluster even if the manager
// restarts, a removed instance, and the deletion of the InstanceSource.
func TestInstances(t *testing.T) {
	e := start(t)
	run := e.installManager(t)
	m := run()
	r := newRepository(t)
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.write(t, "apps/team/api.yaml", service("api", "ghcr.io/shop/api:2.0.0"))
	r.rolesOfInstances(t)
	first := r.commit(t, "Two web services")
	e.Apply(t, documented(t, "clusters/flux-instances.yaml", "https://git.example.com/shop/deploy", r.url, "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.applied(t, e.rendered(t, first))
	e.image(t, "web", "ghcr.io/shop/web:1.4.0")
	e.image(t, "api", "ghcr.io/shop/api:2.0.0")
	if g := e.graph(t, "web"); g.GetLabels()["pequod.io/managed-by-operator"] != "" || ready(g, "True", "") != nil {
		t.Errorf("the Kustomization is ready, and the graph is not, or is the manager's: %v", g.Object)
	}

	// An update, and one that renders the same.
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.5.0"))
	updated := e.rendered(t, r.commit(t, "web 1.5.0"))
	e.applied(t, updated)
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")
	r.write(t, "apps/web.yaml", "# a comment\n"+service("web", "ghcr.io/shop/web:1.5.0"))
	same := e.rendered(t, r.commit(t, "A comment"))
	if was, is := updated.Object["status"].(map[string]any)["artifact"], same.Object["status"].(map[string]any)["artifact"]; fmt.Sprint(was) != fmt.Sprint(is) {
		t.Errorf("another artifact for the same graphs: %v, before %v", is, was)
	}

	// A mistake has its position, and the cluster keeps the last good state.
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.6.0"))
	r.write(t, "apps/team/api.yaml", strings.Replace(service("api", "ghcr.io/shop/api:2.1.0"), "8080", "many", 1))
	r.commit(t, "A mistake")
	e.request(t, "source.toolkit.fluxcd.io/v1", "GitRepository", runtime, "shop")
	e.is(t, platform, "InstanceSource", runtime, "shop", "False", "apps/team/api.yaml:4:")
	if code := m.Stop(t); code != 0 {
		t.Errorf("the manager ended with %d", code)
	}
	run() // with an empty disk, it serves the last artifact
	if err := ready(e.handled(t, "shop"), "True", ""); err != nil {
		t.Error(err)
	}
	e.is(t, platform, "InstanceSource", runtime, "shop", "False", "apps/team/api.yaml:4:")
	e.image(t, "web", "ghcr.io/shop/web:1.5.0")

	// A removed instance goes, with its objects, and the other one is updated.
	r.write(t, "apps/team/api.yaml", "")
	removed := e.rendered(t, r.commit(t, "No api"))
	e.applied(t, removed)
	e.image(t, "web", "ghcr.io/shop/web:1.6.0")
	deployments := e.Await(t, "apps/v1", "Deployment", "shop")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := deployments.Get(ctx, "api", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment api: %w", errors.Join(err, errors.New("is still there")))
		}
		return nil
	})

	// Without the InstanceSource, its artifact and what was stored of it go. What is applied stays.
	if err := e.Await(t, platform, "InstanceSource", runtime).Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	external := e.Await(t, "source.toolkit.fluxcd.io/v1", "ExternalArtifact", runtime)
	revisions := e.Await(t, "apps/v1", "ControllerRevision", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := external.Get(ctx, "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the ExternalArtifact: %w", errors.Join(err, errors.New("is still there")))
		}
		list, err := revisions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if strings.HasPrefix(o.GetName(), "pequod-artifact-") {
				return fmt.Errorf("%s is left", o.GetName())
			}
		}
		return nil
	})
	e.image(t, "web", "ghcr.io/shop/web:1.6.0")
	e.graph(t, "web")
}
