package execute_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/identity"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/rollout/board"
	"github.com/pequod-io/pequod/operator/rollout/execute"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
	"github.com/pequod-io/pequod/test/workers"
)

func TestMain(m *testing.M) { workers.Main(m) }

// patience is how long a test waits for what is to come.
const patience = 3 * time.Minute

// env is a namespace with the controllers of pequod-manager, and a Transform "app" in it.
type env struct {
	*harness.Cluster
	t      testing.TB
	client client.Client // of the test, which reads from the API server
	pool   *worker.Pool
	group  string
	board  *board.Board // of the manager that was started last
	stop   func()
	// history has the digests that each graph has had, in their order, and changes all
	// changes of digests as NAME=DIGEST.
	history *history
}

// newEnv returns an env without a manager.
func newEnv(t testing.TB) *env {
	t.Helper()
	c := harness.Start(t)
	b := &env{Cluster: c, t: t, stop: func() {}, group: c.Unique("g") + ".example.org"}
	inprocess.Install(t, c)
	var err error
	if b.client, err = client.New(c.Config, client.Options{Scheme: b.scheme()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.stop()
		_ = b.client.Patch(context.Background(), b.transform(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if crds, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""); err == nil {
			_ = crds.Delete(context.Background(), "apps."+b.group, metav1.DeleteOptions{})
		}
	})
	b.newPool()
	b.watch()
	return b
}

func (b *env) scheme() *runtime.Scheme {
	b.t.Helper()
	scheme := runtime.NewScheme()
	if err := transform.AddToScheme(scheme); err != nil {
		b.t.Fatal(err)
	}
	return scheme
}

// newPool replaces the worker processes by others, which know no platform: the disk of a
// manager is lost with its Pod.
func (b *env) newPool() {
	b.t.Helper()
	b.pool = workers.Pool(b.t, worker.Options{})
}

// start runs a manager with fresh caches until stop is called or the test ends.
func (b *env) start(config *rest.Config) {
	b.t.Helper()
	byObject := transform.ByObject(b.Namespace)
	for object, options := range byObject {
		if _, ok := object.(*v1alpha1.Transform); ok {
			options.Namespaces = map[string]cache.Config{b.Namespace: {}} // other tests have others
			byObject[object] = options
		}
	}
	var mgr manager.Manager
	harness.Eventually(b.t, patience, func(context.Context) (err error) { // a proxy may have closed a connection
		mgr, err = b.manager(config, byObject)
		return err
	})
	b.stop = inprocess.Start(b.t, mgr, "graceful shutdown")
}

// manager returns a manager with the controllers of pequod-manager.
func (b *env) manager(config *rest.Config, byObject map[client.Object]cache.ByObject) (manager.Manager, error) {
	mgr, err := inprocess.NewManager(config, b.scheme(), byObject)
	if err != nil {
		return nil, err
	}
	platforms, versions := catalog.New(), board.New()
	b.board = versions
	revisions := revision.Store{Client: mgr.GetClient(), API: mgr.GetAPIReader(), Namespace: b.Namespace}
	return mgr, errors.Join(
		transform.Setup(mgr, transform.Options{
			Catalog: platforms, Fetcher: fetch.New(fetch.Options{Client: b.Client.CoreV1()}), Loader: b.pool, Namespace: b.Namespace, Settle: time.Millisecond,
		}),
		instance.Setup(mgr, instance.Options{Catalog: platforms, Renderer: instance.Pooled(b.pool, revisions), Board: versions}),
		execute.Setup(mgr, execute.Options{Catalog: platforms, Board: versions, Revisions: revisions}),
		controller.Setup(mgr, controller.Options{
			Namespace: b.Namespace, Operator: &controller.Operator{Account: func(rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
				return identity.Account(b.Namespace, rg)
			}},
		}),
	)
}

// module returns a module whose graph has a ConfigMap with data, and with fields for its
// input.
func (b *env) module(input, data string) string {
	return `
package app

#Platform: {group: "` + b.group + `", kind: "App"}
#Input: {text: string, flavor?: string, ` + input + `}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: first: resource: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		data: {text: input.spec.text, ` + data + `}
	}
}
`
}

// breaks is data of a ConfigMap that the API server refuses, for instances with a flavor.
const breaks = `if input.spec.flavor != _|_ {"no key": "x"}`

// transform returns the Transform without its spec.
func (b *env) transform() *v1alpha1.Transform {
	return &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "app"}}
}

// keyOf returns the namespace and name of the Transform.
func keyOf(t *v1alpha1.Transform) types.NamespacedName { return client.ObjectKeyFromObject(t) }

// create creates the Transform with a module, and waits until it is ready.
func (b *env) create(module string, settings *v1alpha1.Rollout) {
	b.t.Helper()
	t := b.transform()
	t.Spec.CueRef, t.Spec.Rollout = v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: module}, settings
	if err := b.client.Create(b.t.Context(), t); err != nil {
		b.t.Fatal(err)
	}
	b.until(func(t *v1alpha1.Transform) error {
		if t.Status.Phase != v1alpha1.TransformReady {
			return errors.New("not ready")
		}
		return nil
	})
}

// edit changes the Transform.
func (b *env) edit(change func(*v1alpha1.Transform)) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		t := b.transform()
		if err := b.client.Get(ctx, keyOf(t), t); err != nil {
			return err
		}
		change(t)
		return b.client.Update(ctx, t)
	})
}

// update replaces the module.
func (b *env) update(module string) {
	b.t.Helper()
	b.edit(func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = module })
}

// until waits until the Transform is as a check wants it, and returns it.
func (b *env) until(check func(*v1alpha1.Transform) error) *v1alpha1.Transform {
	b.t.Helper()
	t := b.transform()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		if err := b.client.Get(ctx, keyOf(t), t); err != nil {
			return err
		}
		if err := check(t); err != nil {
			text, _ := json.Marshal(t.Status)
			return fmt.Errorf("%w; status: %s; changes: %v", err, text, b.history.all())
		}
		return nil
	})
	return t
}

// phase waits for a phase of the rollout to the module that the Transform has, and returns the
// state.
func (b *env) phase(phase v1alpha1.RolloutPhase) *v1alpha1.RolloutStatus {
	b.t.Helper()
	return b.until(func(t *v1alpha1.Transform) error {
		s, ref := t.Status.Rollout, t.Status.ResolvedCueRef
		if s == nil || ref == nil || t.Status.ObservedGeneration != t.Generation || s.ToDigest != ref.Digest || s.Phase != phase {
			return fmt.Errorf("not in phase %s", phase)
		}
		return nil
	}).Status.Rollout
}

// event waits for an Event about the Transform.
func (b *env) event(reason, text string) {
	b.t.Helper()
	b.AwaitEvent(b.t, patience, "Transform", "app", reason, text)
}

func (b *env) instances() dynamic.ResourceInterface {
	b.t.Helper()
	return b.Await(b.t, b.group+"/v1alpha1", "App", b.Namespace)
}

// apply creates an instance, or changes it. more are further fields of it as JSON.
func (b *env) apply(name, spec, more string) {
	b.t.Helper()
	in := &unstructured.Unstructured{}
	text := `{"apiVersion": "` + b.group + `/v1alpha1", "kind": "App", "metadata": {"name": "` + name + `"` + more + `}, "spec": ` + spec + `}`
	if err := in.UnmarshalJSON([]byte(text)); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.instances().Apply(b.t.Context(), name, in, metav1.ApplyOptions{FieldManager: "developer", Force: true}); err != nil {
		b.t.Fatal(err)
	}
}

// condition waits for the condition Ready of an instance.
func (b *env) condition(name, status, reason string) {
	b.t.Helper()
	instances := b.instances()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		in, err := instances.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		observed, _, _ := unstructured.NestedInt64(in.Object, "status", "observedGeneration")
		all, _, _ := unstructured.NestedSlice(in.Object, "status", "conditions")
		for _, entry := range all {
			c, _ := entry.(map[string]any)
			if c["type"] == "Ready" && c["status"] == status && (reason == "" || c["reason"] == reason) && observed == in.GetGeneration() {
				return nil
			}
		}
		return fmt.Errorf("%s is not %s %s: %v", name, status, reason, in.Object["status"])
	})
}

// graph returns the graph of an instance.
func (b *env) graph(name string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	key := types.NamespacedName{Namespace: b.Namespace, Name: v1alpha1.GraphName(b.group, "App", b.Namespace, name)}
	if err := b.client.Get(b.t.Context(), key, rg); err != nil {
		b.t.Fatal(err)
	}
	return rg
}

// specs returns the specs of all graphs as the API server stores them, by instance.
func (b *env) specs() map[string]string {
	b.t.Helper()
	graphs, err := b.graphs().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	specs := map[string]string{}
	for _, g := range graphs.Items {
		raw, err := json.Marshal(g.Object["spec"])
		if err != nil {
			b.t.Fatal(err)
		}
		name, _, _ := unstructured.NestedString(g.Object, "spec", "sourceRef", "name")
		specs[name] = string(raw)
	}
	return specs
}

func (b *env) graphs() dynamic.ResourceInterface {
	return b.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(b.Namespace)
}

// ready waits until a number of graphs are ready.
func (b *env) ready(n int) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		graphs, err := b.graphs().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, g := range graphs.Items {
			if phase, _, _ := unstructured.NestedString(g.Object, "status", "phase"); phase == string(v1alpha1.GraphCompleted) {
				ready++
			}
		}
		if ready != n {
			return fmt.Errorf("%d of %d graphs are ready", ready, n)
		}
		return nil
	})
}
