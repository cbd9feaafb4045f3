package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/docsession"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// patience is how long a controller may take on a busy machine.
const patience = 5 * time.Minute

// runtime is the namespace of Flux.
const runtime = "flux-system"

// applier is the applier as it is installed.
var applier = process.Program{Name: "pequod-applier", Account: "pequod-applier", Manifests: config.Applier}

func TestMain(m *testing.M) { process.Main(m) }

// env is a cluster with the applier, and with the controllers of Flux or Argo CD.
type env struct {
	*harness.Cluster
	applier *process.Process
	// startApplier starts the applier again.
	startApplier func()
	// notifications is the address that events are sent to.
	notifications string
}

// installed starts a cluster and the applier.
func installed(t *testing.T) *env {
	t.Helper()
	if os.Getenv("PEQUOD_E2E") == "" {
		t.Skip("make e2e builds the controllers of Flux and Argo CD, and runs this test")
	}
	t.Parallel()
	c, account := applier.Install(t)
	e := &env{Cluster: c, notifications: "http://" + process.FreeAddress(t) + "/"}
	e.startApplier = func() {
		e.applier = applier.Start(t, c, account, "--leader-elect=false", "--leader-election-namespace=")
	}
	e.startApplier()
	return e
}

// applyFiles applies the files that match a pattern. There must be some.
func applyFiles(t *testing.T, c *harness.Cluster, pattern string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(text))
	}
}

// start starts a cluster, Flux and the applier.
func start(t *testing.T) *env {
	t.Helper()
	e := installed(t)
	c := e.Cluster
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+runtime+"}}")
	for _, controller := range []string{"source", "kustomize", "notification"} {
		applyFiles(t, c, filepath.Join(moduleOf(t, "flux", "github.com/fluxcd/"+controller+"-controller"), "config/crd/bases/*.yaml"))
	}
	storage := process.FreeAddress(t)
	e.controller(t, "source", "--storage-path="+t.TempDir(), "--storage-addr="+storage, "--storage-adv-addr="+storage, "--events-addr="+e.notifications)
	e.controller(t, "kustomize", "--requeue-dependency=2s", "--feature-gates=ExternalArtifact=true", "--events-addr="+e.notifications)
	listen := strings.TrimSuffix(strings.TrimPrefix(e.notifications, "http://"), "/")
	e.controller(t, "notification", "--receiverAddr="+process.FreeAddress(t), "--rate-limit-interval=1s", "--events-addr="+listen)
	return e
}

// moduleOf returns the directory of a module that the module in dir requires.
func moduleOf(t *testing.T, dir, module string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// controller runs a controller of Flux as the cluster's administrator until the test ends.
func (e *env) controller(t *testing.T, name string, args ...string) {
	t.Helper()
	p := &process.Process{Log: &process.Log{}, Probes: process.FreeAddress(t), Done: make(chan error, 1)}
	p.Cmd = exec.Command("../../bin/"+name+"-controller", append([]string{
		"--watch-all-namespaces", "--enable-leader-election=false", "--log-level=info",
		"--metrics-addr=" + process.FreeAddress(t), "--health-addr=" + p.Probes,
	}, args...)...)
	p.Cmd.Env = append(os.Environ(), "KUBECONFIG="+e.Kubeconfig, "RUNTIME_NAMESPACE="+runtime)
	p.Cmd.Stderr, p.Cmd.Stdout = p.Log, p.Log
	p.Run(t)
	p.Ready(t)
}

// documented returns a file of docs/gitops.md, with replacements.
func documented(t *testing.T, file string, replacements ...string) string {
	t.Helper()
	return documentedIn(t, "gitops.md", file, replacements...)
}

// documentedIn is documented with a file of another document.
func documentedIn(t *testing.T, doc, file string, replacements ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + doc)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docsession.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if b.File == file {
			return strings.NewReplacer(replacements...).Replace(strings.Join(b.Lines, "\n") + "\n")
		}
	}
	t.Fatalf("%s has no file %s", doc, file)
	return ""
}

const (
	kustomizations = "kustomize.toolkit.fluxcd.io/v1"
	platform       = "platform.pequod.io/v1alpha1"
)

// is waits until the condition Ready of an object has a status and a message, and its
// observed generation is the current one.
func (e *env) is(t *testing.T, apiVersion, kind, namespace, name, status, message string) {
	t.Helper()
	client := e.Await(t, apiVersion, kind, namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		o, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return ready(o, status, message)
	})
}

// ready returns why the condition Ready of an object isn't as wanted.
func ready(o *unstructured.Unstructured, status, message string) error {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	for _, c := range conditions {
		c := c.(map[string]any)
		if c["type"] == "Ready" && c["status"] == status && strings.Contains(c["message"].(string), message) && observed == o.GetGeneration() {
			return nil
		}
	}
	return fmt.Errorf("%s %s: generation %d, observed %d, conditions %v", o.GetKind(), o.GetName(), o.GetGeneration(), observed, conditions)
}

// synced has Flux fetch a repository now, and waits until a Kustomization has applied the commit.
func (e *env) synced(t *testing.T, kustomization, commit string) {
	t.Helper()
	e.request(t, "source.toolkit.fluxcd.io/v1", "GitRepository", runtime, "shop")
	client := e.Await(t, kustomizations, "Kustomization", runtime)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		k, err := client.Get(ctx, kustomization, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if applied, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision"); !strings.HasSuffix(applied, commit) {
			return fmt.Errorf("%q is applied, want %s: %v", applied, commit, k.Object["status"])
		}
		return ready(k, "True", "")
	})
}

// request requests a reconciliation as flux reconcile does.
func (e *env) request(t *testing.T, apiVersion, kind, namespace, name string) (token string) {
	t.Helper()
	token = time.Now().Format(time.RFC3339Nano)
	e.merge(t, apiVersion, kind, namespace, name, fmt.Sprintf(`{"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": %q}}}`, token))
	return token
}

// merge changes an object as a user of kubectl patch does.
func (e *env) merge(t *testing.T, apiVersion, kind, namespace, name, patch string) {
	t.Helper()
	e.mergeAs(t, "kubectl-patch", apiVersion, kind, namespace, name, patch)
}

// mergeAs is merge with a field manager.
func (e *env) mergeAs(t *testing.T, manager, apiVersion, kind, namespace, name, patch string) {
	t.Helper()
	client := e.Await(t, apiVersion, kind, namespace)
	if _, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

// image waits until a Deployment in the namespace shop has an image.
func (e *env) image(t *testing.T, name, want string) {
	t.Helper()
	client := e.Await(t, "apps/v1", "Deployment", "shop")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		d, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
		if got := containers[0].(map[string]any)["image"]; got != want {
			return fmt.Errorf("image %v, want %s", got, want)
		}
		return nil
	})
}
