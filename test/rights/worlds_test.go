package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestManager takes the rights of pequod-manager away. Its world is a Transform and an instance.
func TestManager(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	t.Parallel()
	manager := process.Program{Name: "pequod-manager", Account: "pequod-controller-manager", Manifests: config.Operator}
	c, account := manager.Install(t)
	proxy := c.Proxy(t, 1)
	program := keep(t, func() *process.Process { return manager.Start(t, c, proxy.Config(account)) })
	c.Apply(t, "{apiVersion: platform.pequod.io/v1alpha1, kind: Transform, metadata: {name: webservice, namespace: "+process.Namespace+"}, spec: {cueRef: {type: embedded, ref: webservice}}}")
	takeAway(t, c, proxy, program, manager.Account, operated{
		c: c, transforms: c.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace),
		instances: c.Await(t, "pequod.io/v1alpha1", "WebService", c.Namespace),
	})
}

// operated is the world of the manager.
type operated struct {
	c                     *harness.Cluster
	transforms, instances dynamic.ResourceInterface
}

func image(n int) string { return fmt.Sprintf("ghcr.io/example/web:v%d", n) }

func (w operated) change(t *testing.T, n int) {
	t.Helper()
	w.c.Apply(t, "{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: '"+image(n)+"', port: 8080}}")
	remove(t, w.c.Client.AppsV1().Deployments(w.c.Namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
}

func (w operated) settled(ctx context.Context, n int) error {
	instance, err := isReady(ctx, w.instances, "web")
	if err != nil {
		return err
	}
	if got, _, _ := unstructured.NestedString(instance.Object, "spec", "image"); got != image(n) {
		return fmt.Errorf("the instance has %s", got)
	}
	if _, err := isReady(ctx, w.transforms, "webservice"); err != nil {
		return err
	}
	return w.lie(ctx)
}

func (w operated) lie(ctx context.Context) error {
	if _, err := isReady(ctx, w.transforms, "webservice"); err == nil {
		for _, verb := range []string{"list", "watch"} {
			if err := may(ctx, w.c, "pequod-controller-manager", verb, "pequod.io", "webservices"); err != nil {
				return fmt.Errorf("the Transform is Ready: %w", err)
			}
		}
	}
	instance, err := isReady(ctx, w.instances, "web")
	if err != nil {
		return nil // it claims nothing
	}
	image, _, _ := unstructured.NestedString(instance.Object, "spec", "image")
	deployment, err := w.c.Client.AppsV1().Deployments(w.c.Namespace).Get(ctx, "web", metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("the instance is Ready: %w", err)
	case deployment.Spec.Template.Spec.Containers[0].Image != image:
		return fmt.Errorf("the instance is Ready with %s, and the Deployment has %s", image, deployment.Spec.Template.Spec.Containers[0].Image)
	case deployment.Status.AvailableReplicas == 0:
		return errors.New("the instance is Ready without an available Pod")
	}
	return nil
}

// TestApplier takes the rights of pequod-applier away. Its world is a graph of a ConfigMap, which it may
// watch, and a ServiceAccount, which it reads from time to time.
func TestApplier(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	t.Parallel()
	applier := process.Program{Name: "pequod-applier", Account: "pequod-applier", Manifests: config.Applier}
	c, account := applier.Install(t)
	proxy := c.Proxy(t, 1)
	c.Apply(t, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pequod}
rules: [{apiGroups: [""], resources: [configmaps, serviceaccounts], verbs: [get, list, watch, create, patch, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pequod}
subjects: [{kind: ServiceAccount, name: pequod}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watch-configmaps, labels: {pequod.io/aggregate-to-applier: "true"}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]
`)
	program := keep(t, func() *process.Process { return applier.Start(t, c, proxy.Config(account), "--resync=20s") })
	takeAway(t, c, proxy, program, applier.Account, applied{c, c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", c.Namespace)})
}

// applied is the world of the applier.
type applied struct {
	c      *harness.Cluster
	graphs dynamic.ResourceInterface
}

func (w applied) change(t *testing.T, n int) {
	t.Helper()
	w.c.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  graph:
    nodes:
    - {id: page, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {change: "%d"}}}
    - {id: account, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}}
`, n))
	remove(t, w.c.Client.CoreV1().ConfigMaps(w.c.Namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	remove(t, w.c.Client.CoreV1().ServiceAccounts(w.c.Namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
}

func (w applied) settled(ctx context.Context, n int) error {
	if _, err := isReady(ctx, w.graphs, "web"); err != nil {
		return err
	}
	page, err := w.c.Client.CoreV1().ConfigMaps(w.c.Namespace).Get(ctx, "web", metav1.GetOptions{})
	if err == nil && page.Data["change"] != fmt.Sprint(n) {
		err = fmt.Errorf("the ConfigMap has %v", page.Data)
	}
	if err == nil {
		_, err = w.c.Client.CoreV1().ServiceAccounts(w.c.Namespace).Get(ctx, "web", metav1.GetOptions{})
	}
	return err
}

func (w applied) lie(ctx context.Context) error {
	graph, err := isReady(ctx, w.graphs, "web")
	if err != nil {
		return nil // it claims nothing
	}
	nodes, _, _ := unstructured.NestedSlice(graph.Object, "spec", "graph", "nodes")
	want, _, _ := unstructured.NestedString(nodes[0].(map[string]any), "resource", "data", "change")
	page, err := w.c.Client.CoreV1().ConfigMaps(w.c.Namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("the graph is Ready: %w", err)
	}
	if page.Data["change"] != want {
		return fmt.Errorf("the graph is Ready with change %s, and the ConfigMap has %v", want, page.Data)
	}
	if _, err := w.c.Client.CoreV1().ServiceAccounts(w.c.Namespace).Get(ctx, "web", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("the graph is Ready: %w", err)
	}
	return nil
}

// TestActions takes the rights of pequod-actions away. Its world is an Action that sends its change to a
// server, and a Monitor that reads a ConfigMap.
func TestActions(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	t.Parallel()
	actions := process.Program{Name: "pequod-actions", Account: "pequod-actions", Manifests: config.Actions}
	c, account := actions.Install(t)
	proxy := c.Proxy(t, 1)
	c.Apply(t, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pequod}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pequod}
subjects: [{kind: ServiceAccount, name: pequod}]
---
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: web}
spec:
  serviceAccountName: pequod
  interval: 5s
  probe: {object: {apiVersion: v1, kind: ConfigMap, name: web}}
  state: object.data.change
`)
	w := acted{c: c, monitors: c.Await(t, "platform.pequod.io/v1alpha1", "Monitor", c.Namespace), actions: c.Await(t, "platform.pequod.io/v1alpha1", "Action", c.Namespace)}
	server := httptest.NewServer(&w.server)
	t.Cleanup(server.Close)
	w.url = server.URL
	program := keep(t, func() *process.Process {
		return actions.Start(t, c, proxy.Config(account), "--allow-egress=127.0.0.0/8,http://127.0.0.1")
	})
	takeAway(t, c, proxy, program, actions.Account, &w)
}

// acted is the world of pequod-actions.
type acted struct {
	c                 *harness.Cluster
	monitors, actions dynamic.ResourceInterface
	url               string
	server            changes
}

// changes is a server that knows the changes which Actions have sent.
type changes struct{ sent sync.Map }

func (s *changes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Change string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.sent.Store(body.Change, true)
	_, _ = w.Write([]byte("{}"))
}

func (w *acted) change(t *testing.T, n int) {
	t.Helper()
	w.c.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {change: "%d"}}
---
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: web}
spec: {serviceAccountName: pequod, http: {url: %s, body: {change: "%d"}}}
`, n, w.url, n))
}

func (w *acted) settled(ctx context.Context, n int) error {
	if _, err := isReady(ctx, w.actions, "web"); err != nil {
		return err
	}
	if _, err := isReady(ctx, w.monitors, "web"); err != nil {
		return err
	}
	if _, sent := w.server.sent.Load(fmt.Sprint(n)); !sent {
		return fmt.Errorf("change %d was not sent", n)
	}
	return w.lie(ctx)
}

func (w *acted) lie(ctx context.Context) error {
	if action, err := isReady(ctx, w.actions, "web"); err == nil {
		change, _, _ := unstructured.NestedString(action.Object, "spec", "http", "body", "change")
		if _, sent := w.server.sent.Load(change); !sent {
			return fmt.Errorf("the Action is Ready, and change %s was not sent", change)
		}
	}
	if monitor, err := isReady(ctx, w.monitors, "web"); err == nil {
		if err := may(ctx, w.c, "pequod-actions", "impersonate", "", "serviceaccounts"); err != nil {
			return fmt.Errorf("the Monitor is Ready: %w: %v", err, monitor.Object["status"])
		}
	}
	return nil
}

// isReady returns an object whose condition Ready is True for its generation, or an error that says what
// it is instead.
func isReady(ctx context.Context, objects dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	o, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" && observed == o.GetGeneration() {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%s isn't ready: %v", name, o.Object["status"])
}

// may returns an error if an account of the programs has no right.
func may(ctx context.Context, c *harness.Cluster, account, verb, group, resource string) error {
	review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + process.Namespace + ":" + account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource},
	}}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		err = fmt.Errorf("%s may not %s %s.%s", account, verb, resource, group)
	}
	return err
}

// remove fails the test unless an object was deleted or wasn't there.
func remove(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}
