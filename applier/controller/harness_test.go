package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

func TestMain(m *testing.M) { inprocess.Main(m) }

// env is the environment of a test: a namespace in which an applier executes
// graphs as an account that may do anything there.
type env struct {
	*harness.Cluster
	t       testing.TB
	options controller.Options
	stop    func()
	logger  logr.Logger // of the applier; the zero value drops everything
	manager func(*manager.Options)
	// patience is how long a test waits for what is to come.
	patience time.Duration
}

func newEnv(t testing.TB) *env {
	t.Helper()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	return b
}

// idle returns an env without an applier.
func idle(t testing.TB, c *harness.Cluster) *env {
	t.Helper()
	b := &env{Cluster: c, t: t, stop: func() {}, patience: 3 * time.Minute}
	b.options = controller.Options{DefaultServiceAccount: "pequod", Namespace: c.Namespace}
	inprocess.Install(t, c)
	b.account("pequod", inprocess.Anything())
	return b
}

// account makes a service account that has rights in the namespace.
func (b *env) account(name string, rules ...rbacv1.PolicyRule) {
	b.t.Helper()
	inprocess.Account(b.t, b.Cluster, name, rules...)
}

type ctx = context.Context

func (b *env) background() ctx { return context.WithoutCancel(b.t.Context()) }

// clusterAdmin lets a service account of the namespace do anything anywhere.
func (b *env) clusterAdmin(name string) { b.bindCluster(name, "cluster-admin") }

func (b *env) bindCluster(name, role string) {
	b.t.Helper()
	bindings := b.Client.RbacV1().ClusterRoleBindings()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: b.Unique(name)}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: b.Namespace}},
	}
	if _, err := bindings.Create(b.t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := bindings.Delete(b.background(), binding.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			b.t.Log(err)
		}
	})
}

// start runs an applier until stop is called or the test ends.
func (b *env) start(config *rest.Config) {
	b.t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		b.t.Fatal(err)
	}
	options := manager.Options{Scheme: scheme, Logger: b.logger, Metrics: server.Options{BindAddress: "0"}}
	if b.manager != nil {
		b.manager(&options)
	}
	mgr, err := manager.New(config, options)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := controller.Setup(mgr, b.options); err != nil {
		b.t.Fatal(err)
	}
	b.stop = inprocess.Start(b.t, mgr, "")
}

func (b *env) graphs() dynamic.ResourceInterface {
	return b.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(b.Namespace)
}

// rendered is a graph as pequod renders it, of the YAML of its nodes and outputs.
// In it, TEST-NS stands for the test's namespace. Edits change the spec.
func (b *env) rendered(name, text string, edits ...func(*v1alpha1.ResourceGraphSpec)) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.APIVersion, rg.Kind = v1alpha1.GroupVersion.String(), "ResourceGraph"
	rg.Name, rg.Namespace = name, b.Namespace
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "pequod.io/v1alpha1", Kind: "WebService", Name: name}
	rg.Spec.PlatformRef = v1alpha1.PlatformRef{Module: "example.com/webservice"}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "TEST-NS", b.Namespace)), &rg.Spec.Graph); err != nil {
		b.t.Fatal(err)
	}
	hash, err := graph.RenderHash(rg.Spec.Graph)
	if err != nil {
		b.t.Fatal(err)
	}
	rg.Spec.RenderHash = hash
	for _, edit := range edits {
		edit(&rg.Spec)
	}
	return rg
}

// apply applies a graph as kubectl apply --server-side does.
func (b *env) apply(rg *v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph {
	b.t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		b.t.Fatal(err)
	}
	delete(object, "status")
	delete(object["metadata"].(map[string]any), "creationTimestamp")
	stored, err := b.graphs().Apply(b.t.Context(), rg.Name, &unstructured.Unstructured{Object: object}, metav1.ApplyOptions{FieldManager: "ci", Force: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.decode(stored)
}

func (b *env) decode(obj *unstructured.Unstructured) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	raw, err := json.Marshal(obj.Object)
	if err == nil {
		err = json.Unmarshal(raw, rg)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return rg
}

func (b *env) get(ctx context.Context, name string) (*v1alpha1.ResourceGraph, error) {
	obj, err := b.graphs().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return b.decode(obj), nil
}

// until waits for a graph to be as a check wants it.
func (b *env) until(name string, check func(*v1alpha1.ResourceGraph) error) *v1alpha1.ResourceGraph {
	b.t.Helper()
	var found *v1alpha1.ResourceGraph
	harness.Eventually(b.t, b.patience, func(ctx context.Context) error {
		rg, err := b.get(ctx, name)
		if err != nil {
			return err
		}
		if err := check(rg); err != nil {
			status, _ := yaml.Marshal(rg.Status)
			return fmt.Errorf("%w:\n%s", err, status)
		}
		found = rg
		return nil
	})
	return found
}

// condition wants a condition of the generation that is stored.
func condition(kind string, status metav1.ConditionStatus, reason, message string) func(*v1alpha1.ResourceGraph) error {
	return func(rg *v1alpha1.ResourceGraph) error {
		c := meta.FindStatusCondition(rg.Status.Conditions, kind)
		switch {
		case rg.Status.ObservedGeneration != rg.Generation:
			return fmt.Errorf("generation %d isn't observed", rg.Generation)
		case c == nil:
			return fmt.Errorf("no condition %s", kind)
		case c.Status != status || reason != "" && c.Reason != reason || !strings.Contains(c.Message, message):
			return fmt.Errorf("condition %s is %s %s: %s; want %s %s: %s", kind, c.Status, c.Reason, c.Message, status, reason, message)
		}
		return nil
	}
}

var isReady = condition("Ready", "True", "", "")

func (b *env) ready(name string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	return b.until(name, isReady)
}

func (b *env) resource(apiVersion, kind string) dynamic.ResourceInterface {
	b.t.Helper()
	r, err := b.Resource(apiVersion, kind, b.Namespace)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *env) exists(ctx context.Context, apiVersion, kind, name string) bool {
	b.t.Helper()
	_, err := b.resource(apiVersion, kind).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		b.t.Fatal(err)
	}
	return err == nil
}

func (b *env) wantExists(want bool, apiVersion, kind string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		if got := b.exists(b.t.Context(), apiVersion, kind, name); got != want {
			b.t.Errorf("%s %s exists: %t; want %t", kind, name, got, want)
		}
	}
}

func (b *env) eventually(what string, ok func(ctx context.Context) bool) {
	b.t.Helper()
	harness.Eventually(b.t, b.patience, func(ctx context.Context) error {
		if !ok(ctx) {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

// gone waits for a graph to be gone.
func (b *env) gone(name string) {
	b.t.Helper()
	harness.Eventually(b.t, b.patience, func(ctx context.Context) error {
		rg, err := b.get(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		status, _ := yaml.Marshal(rg.Status)
		return fmt.Errorf("still there: %v\n%s", rg.Finalizers, status)
	})
}

func (b *env) remove(name string) {
	b.t.Helper()
	if err := b.graphs().Delete(b.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// patch changes an object as another client would.
func (b *env) patch(apiVersion, kind, name, manager, patch string) {
	b.t.Helper()
	_, err := b.resource(apiVersion, kind).Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *env) data(ctx context.Context, name string) string {
	cm, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return cm.Data["a"]
}

// event waits for an Event of a graph.
func (b *env) event(graph, reason, note string) {
	b.t.Helper()
	b.AwaitEvent(b.t, b.patience, "ResourceGraph", graph, reason, note)
}

// owned lists the objects in the inventory of a graph's status.
func owned(rg *v1alpha1.ResourceGraph) string {
	if rg.Status.Inventory == nil {
		return ""
	}
	var names []string
	for _, e := range inventory.OfStatus(inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, rg.Status.Inventory).Entries {
		text := e.Kind + " " + e.Name
		if e.UID == "" {
			text += " (intent)"
		}
		names = append(names, text)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func phases(rg *v1alpha1.ResourceGraph) string {
	var text []string
	for _, id := range slices.Sorted(maps.Keys(rg.Status.NodeStates)) {
		text = append(text, id+" "+string(rg.Status.NodeStates[id].Phase))
	}
	return strings.Join(text, ", ")
}

func configMap(id, name, data string, needs ...string) string {
	raw, _ := json.Marshal(map[string]any{
		"id": id, "dependencies": needs,
		"resource": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"a": data},
		},
	})
	return string(raw)
}

func nodes(list ...string) string { return "nodes: [" + strings.Join(list, ", ") + "]" }

var errNotYet = errors.New("not yet")
