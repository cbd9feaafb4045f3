package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// applier is pequod-applier as it is installed.
var applier = process.Program{Name: "pequod-applier", Account: "pequod-applier", Manifests: config.Applier}

// cloud is a server whose paths are resources: POST makes one, and POST to its /undo removes it.
type cloud struct {
	*httptest.Server
	mu sync.Mutex
	// calls are the paths of the requests, in their order. A request that is sent again has the
	// same key, and counts once.
	calls []string
	keys  map[string]bool
	// undoing is called before a resource is removed.
	undoing func(path string)
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{undoing: func(string) {}, keys: map[string]bool{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Size any }
	_ = json.NewDecoder(r.Body).Decode(&body) // no body is none
	c.mu.Lock()
	if key := r.Header.Get("Idempotency-Key"); !c.keys[key] {
		c.calls, c.keys[key] = append(c.calls, r.URL.Path), true
	}
	undoing := c.undoing
	c.mu.Unlock()
	name, undo := strings.CutSuffix(r.URL.Path, "/undo")
	if undo {
		undoing(name)
	}
	switch name {
	case "/broken":
		if !undo {
			http.Error(w, "no quota", http.StatusUnprocessableEntity)
		}
	case "/stuck":
		if undo {
			http.Error(w, "in use", http.StatusUnprocessableEntity)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": fmt.Sprintf("%s-%v", name[1:], body.Size)}) // the client may be gone
}

// count returns the number of requests to a path.
func (c *cloud) count(path string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call == path {
			n++
		}
	}
	return n
}

// graphEnv is a cluster with both programs.
type graphEnv struct {
	*harness.Cluster
	cloud *cloud
	dir   string
}

func newGraphEnv(t *testing.T) *graphEnv {
	t.Helper()
	c, as := installed.Borrow(t)
	c.Apply(t, string(applier.Manifests))
	c.Apply(t, string(operator.Manifests)) // its policies hold for the programs beside it
	e := &graphEnv{c, newCloud(t), t.TempDir()}
	applier.Start(t, c, c.ServiceAccount(t, process.Namespace, applier.Account))
	installed.Start(t, c, as, "--allow-egress=127.0.0.0/8,http://127.0.0.1")
	return e
}

// actionNode is a node with an Action that makes a resource of the cloud.
func (e *graphEnv) actionNode(name, size string) string {
	return fmt.Sprintf(`
    - id: %[1]s
      resource:
        apiVersion: platform.pequod.io/v1alpha1
        kind: Action
        metadata: {name: %[1]s}
        spec:
          serviceAccountName: runner
          retry: {attempts: 0}
          http: {url: %[3]s/%[1]s, body: {size: %[2]s}}
          outputs: {id: run.response.body.id}
          destroy: {http: {url: %[3]s/%[1]s/undo}}`, name, size, e.cloud.URL)
}

// apply applies a graph with nodes, and the roles that rbac generate has for it.
func (e *graphEnv) apply(t *testing.T, name, nodes string) {
	t.Helper()
	graph := fmt.Sprintf(`apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: %s, namespace: %s}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: %[1]s}
  platformRef: {module: webservice}
  renderHash: ""
  graph:
    nodes:%[3]s
`, name, e.Namespace, nodes)
	file := filepath.Join(e.dir, name+".yaml")
	if err := os.WriteFile(file, []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	// Without the summary, which is on stderr.
	roles := regexp.MustCompile(`(?m)^pequod: .*\n`).ReplaceAllString(process.PequodIn(t, e.dir, 0, "rbac", "generate", "-f", file), "")
	e.Apply(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod}}\n---\n"+roles+"\n---\n"+graph)
}

// nodeMessage waits until the message of a node has a text.
func (e *graphEnv) nodeMessage(t *testing.T, graph, node, want string) {
	t.Helper()
	graphs := e.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		g, err := graphs.Get(ctx, graph, metav1.GetOptions{})
		if err != nil {
			return err
		}
		state, _, _ := unstructured.NestedMap(g.Object, "status", "nodeStates", node)
		if message, _ := state["message"].(string); !strings.Contains(message, want) {
			return fmt.Errorf("node %s: %v of %v", node, state, g.Object["status"])
		}
		return nil
	})
}

// environment waits until the Deployment has a value in its environment.
func (e *graphEnv) environment(t *testing.T, want string) {
	t.Helper()
	harness.Eventually(t, patience, func(ctx context.Context) error {
		d, err := e.Client.AppsV1().Deployments(e.Namespace).Get(ctx, "app", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if env := d.Spec.Template.Spec.Containers[0].Env; len(env) != 1 || env[0].Value != want {
			return fmt.Errorf("the environment is %v", env)
		}
		return nil
	})
}

// missing waits until an object is gone.
func (e *graphEnv) missing(t *testing.T, kind, name string) {
	t.Helper()
	objects := e.Await(t, "platform.pequod.io/v1alpha1", kind, "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		o, err := objects.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("%s %s isn't gone: %v", kind, name, o), err)
	})
}

// deployment is a node that reads an output of the Action vpc.
const deployment = `
    - id: app
      readyWhen: [{type: Exists}]
      resource:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: app}
        spec:
          selector: {matchLabels: {app: app}}
          template:
            metadata: {labels: {app: app}}
            spec: {containers: [{name: app, image: app, env: [{name: VPC, value: {$from: vpc.status.outputs.id}}]}]}`

// dependent is a node that reads an output of the Action broken.
const dependent = `
    - id: child
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {id: {$from: broken.status.outputs.id}}}`

// TestGraph executes a graph with Actions by both programs: outputs reach other objects, also after
// they have changed; an Action that fails blocks only what reads it; a node that is removed from the
// graph is undone; and an Action is undone after the objects that read it are gone.
func TestGraph(t *testing.T) {
	t.Parallel()
	e := newGraphEnv(t)
	e.apply(t, "shop", e.actionNode("vpc", "1")+e.actionNode("broken", "1")+deployment+dependent)
	e.environment(t, "vpc-1")
	e.nodeMessage(t, "shop", "broken", e.cloud.URL+"/broken")
	e.nodeMessage(t, "shop", "child", "broken")
	if _, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Get(t.Context(), "child", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what reads an Action that failed exists: %v", err)
	}
	status := process.Pequod(t, e.Cluster, 1, "status", "shop", "-n", e.Namespace)
	for _, want := range []string{"Action/vpc", "Action/broken", e.cloud.URL + "/broken", "no quota"} {
		if !strings.Contains(status, want) {
			t.Errorf("status has no %q:\n%s", want, status)
		}
	}
	// Other inputs run again, and their outputs reach the Deployment.
	e.apply(t, "shop", e.actionNode("vpc", "2")+e.actionNode("broken", "1")+deployment+dependent)
	e.environment(t, "vpc-2")
	// A node is removed from the graph.
	e.apply(t, "shop", e.actionNode("vpc", "2")+deployment)
	e.missing(t, "Action", "broken")
	if e.cloud.count("/broken/undo") != 1 {
		t.Errorf("the removed Action was not undone once: %q", e.cloud.calls)
	}
	// The applier owns the Action like every object of a graph.
	labels := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "vpc").GetLabels()
	if labels["app.kubernetes.io/managed-by"] != "pequod" {
		t.Errorf("labels of the Action: %v", labels)
	}
	if diff := process.Pequod(t, e.Cluster, 0, "diff", "-f", filepath.Join(e.dir, "shop.yaml"), "-n", e.Namespace); !strings.Contains(diff, "0 to add, 0 to change, 0 to remove") {
		t.Errorf("diff of what is applied: %s", diff)
	}
	// The graph is deleted.
	early := make(chan error, 8)
	e.cloud.mu.Lock()
	e.cloud.undoing = func(string) {
		if _, err := e.Client.AppsV1().Deployments(e.Namespace).Get(context.Background(), "app", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			early <- errors.Join(errors.New("the Action is undone before the Deployment is gone"), err)
		}
	}
	e.cloud.mu.Unlock()
	graphs := e.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "")
	if err := graphs.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.missing(t, "ResourceGraph", "shop")
	if e.cloud.count("/vpc") != 2 || e.cloud.count("/vpc/undo") != 1 || e.cloud.count("/broken") != 1 {
		t.Errorf("requests: %q", e.cloud.calls)
	}
	select {
	case err := <-early:
		t.Error(err)
	default:
	}
}

// TestGraphLetGo deletes a graph whose Action can't be undone. The Action says which address it waits
// for, and goes when it is paused.
func TestGraphLetGo(t *testing.T) {
	t.Parallel()
	e := newGraphEnv(t)
	e.apply(t, "held", e.actionNode("stuck", "1"))
	graphs := e.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		g, err := graphs.Get(ctx, "held", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready := fmt.Sprint(g.Object["status"]); !strings.Contains(ready, "reason:Ready") && !strings.Contains(ready, "phase:Ready") {
			return fmt.Errorf("not ready: %s", ready)
		}
		return nil
	})
	if err := graphs.Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		a, err := actions.Get(ctx, "stuck", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := fmt.Sprint(a.Object["status"]); a.GetDeletionTimestamp() == nil || !strings.Contains(status, e.cloud.URL+"/stuck/undo answers 422") {
			return fmt.Errorf("status: %s", status)
		}
		return nil
	})
	if _, err := actions.Patch(t.Context(), "stuck", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"pequod.io/paused":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.missing(t, "ResourceGraph", "held")
}
