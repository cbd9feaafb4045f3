package applier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/test/harness"
)

// env is the environment of a test: a namespace, an applier, and the reported events.
type env struct {
	*harness.Cluster
	applier *applier.Applier
	t       testing.TB
	// options are used by the next runs.
	options applier.Options
	events  []applier.Event
}

func newEnv(t testing.TB) *env {
	t.Helper()
	c := harness.Start(t)
	return envOn(t, c, c.Config)
}

func envOn(t testing.TB, c *harness.Cluster, config *rest.Config) *env {
	t.Helper()
	client, err := cluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &env{Cluster: c, t: t, applier: &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}}
	b.options = applier.Options{
		Options: engine.Options{
			Prune: true, ExplainInterval: 200 * time.Millisecond, PollInterval: 5 * time.Second,
			Backoff: engine.Backoff{Base: 50 * time.Millisecond, Max: time.Second},
		},
		Timeout: time.Minute, Wait: true,
		Report: func(e applier.Event) { b.events = append(b.events, e) },
	}
	return b
}

// graph returns a ResourceGraph with nodes and outputs from YAML. TEST-NS is replaced
// by the test's namespace.
func (b *env) graph(name, text string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = name, b.Namespace
	text = strings.ReplaceAll(text, "TEST-NS", b.Namespace)
	if err := yaml.UnmarshalStrict([]byte(text), &rg.Spec.Graph); err != nil {
		b.t.Fatal(err)
	}
	digest, err := fields.Digest(text)
	if err != nil {
		b.t.Fatal(err)
	}
	rg.Spec.RenderHash = "sha256:" + digest
	return rg
}

// run executes a graph. The run may end in any phase.
func (b *env) run(rg *v1alpha1.ResourceGraph) *applier.Result {
	b.t.Helper()
	b.events = nil
	result, err := b.applier.Apply(b.t.Context(), rg, b.options)
	if err != nil {
		b.show(result)
		b.t.Fatal(err)
	}
	return result
}

// complete executes a graph that must end Completed.
func (b *env) complete(rg *v1alpha1.ResourceGraph) *applier.Result {
	b.t.Helper()
	result := b.run(rg)
	if result.Phase != engine.Completed {
		b.show(result)
		b.t.Fatalf("phase %s; want Completed", result.Phase)
	}
	return result
}

// stuck executes a graph that must end Stuck with this failure of a node.
func (b *env) stuck(rg *v1alpha1.ResourceGraph, node, reason, message string) *applier.Result {
	b.t.Helper()
	result := b.run(rg)
	s := status(result, node)
	if result.Phase != engine.Stuck || s.Phase != v1alpha1.NodeFailed || s.Reason != reason || !strings.Contains(s.Message, message) {
		b.show(result)
		b.t.Fatalf("phase %s, node %s %s %s: %q; want Stuck, Failed %s: %q", result.Phase, node, s.Phase, s.Reason, s.Message, reason, message)
	}
	return result
}

func (b *env) show(result *applier.Result) {
	b.t.Helper()
	for _, e := range b.events {
		b.t.Logf("%s %s %s: %s %s %s %s", e.Time.Format("05.000"), e.ID, e.Key, e.Phase, e.Op, e.Reason, e.Message)
	}
	if result != nil {
		b.t.Logf("%s %v %v", result.Phase, result.Outputs, result.OutputErrors)
	}
}

func status(result *applier.Result, node string) engine.Status {
	for _, s := range result.Statuses {
		if s.ID == node || s.ID == "" && s.Key.Name == node {
			return s
		}
	}
	return engine.Status{}
}

// ops returns the operations on each node or object as text.
func ops(result *applier.Result) string {
	var words []string
	for _, s := range result.Statuses {
		id := s.ID
		if id == "" {
			id = s.Key.Name
		}
		words = append(words, id+" "+string(s.Op))
	}
	return strings.Join(words, ", ")
}

func (b *env) wantOps(result *applier.Result, want string) {
	b.t.Helper()
	if got := ops(result); got != want {
		b.show(result)
		b.t.Errorf("operations: %s; want %s", got, want)
	}
}

func (b *env) resource(apiVersion, kind string) dynamic.ResourceInterface {
	b.t.Helper()
	r, err := b.Resource(apiVersion, kind, b.Namespace)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// exists reports whether an object exists and isn't being deleted.
func (b *env) exists(apiVersion, kind, name string) bool {
	b.t.Helper()
	obj, err := b.resource(apiVersion, kind).Get(b.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return obj.GetDeletionTimestamp() == nil
}

func (b *env) wantExists(apiVersion, kind string, want bool, names ...string) {
	b.t.Helper()
	for _, name := range names {
		if got := b.exists(apiVersion, kind, name); got != want {
			b.t.Errorf("%s %s exists: %t; want %t", kind, name, got, want)
		}
	}
}

// patch changes an object like another client, by a merge patch.
func (b *env) patch(apiVersion, kind, name, manager, patch string) *unstructured.Unstructured {
	b.t.Helper()
	obj, err := b.resource(apiVersion, kind).Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		b.t.Fatal(err)
	}
	return obj
}

func (b *env) value(apiVersion, kind, name, path string) any {
	b.t.Helper()
	p, err := fields.Parse(path)
	if err != nil {
		b.t.Fatal(err)
	}
	v, _ := fields.Value(b.Get(b.t, apiVersion, kind, name), p)
	return v
}

func (b *env) wantValue(apiVersion, kind, name, path string, want any) {
	b.t.Helper()
	if got := b.value(apiVersion, kind, name, path); fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s %s: %s is %v; want %v", kind, name, path, got, want)
	}
}

// owned returns the inventory of a graph as text.
func (b *env) owned(name string) string {
	b.t.Helper()
	inv, err := b.applier.Inventories.Load(b.t.Context(), inventory.Owner{Namespace: b.Namespace, Name: name})
	if err != nil {
		b.t.Fatal(err)
	}
	var keys []string
	for _, e := range inv.Entries {
		if e.UID == "" {
			b.t.Errorf("inventory of %s: %s has no UID", name, e.Key)
		}
		keys = append(keys, e.Kind+" "+e.Name)
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

func (b *env) wantOwned(name, want string) {
	b.t.Helper()
	if got := b.owned(name); got != want {
		b.t.Errorf("inventory of %s: %s; want %s", name, got, want)
	}
}

// eventually waits for a condition that others bring about.
func (b *env) eventually(what string, ok func(ctx context.Context) bool) {
	b.t.Helper()
	harness.Eventually(b.t, time.Minute, func(ctx context.Context) error {
		if !ok(ctx) {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

func configMap(id, name, data string) string {
	raw, _ := json.Marshal(map[string]any{
		"id": id,
		"resource": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"a": data},
		},
	})
	return string(raw)
}

// patchScale scales a Deployment through its subresource.
func (b *env) patchScale(name, manager, replicas string) {
	b.t.Helper()
	_, err := b.resource("apps/v1", "Deployment").Patch(b.t.Context(), name, types.MergePatchType,
		[]byte(`{"spec":{"replicas":`+replicas+`}}`), metav1.PatchOptions{FieldManager: manager}, "scale")
	if err != nil {
		b.t.Fatal(err)
	}
}
