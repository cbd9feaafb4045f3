package transform_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/crd"
	sources "github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
	"github.com/pequod-io/pequod/test/workers"
)

func TestMain(m *testing.M) { workers.Main(m) }

// patience is how long a test waits for what is to come.
const patience = 3 * time.Minute

// env is a namespace with a manager that handles its Transforms.
type env struct {
	*harness.Cluster
	t       testing.TB
	client  client.WithWatch // of the test, which reads from the API server
	catalog *catalog.Catalog
	fetcher *fetcher
	loader  *loader
	options transform.Options
	stop    func()
	// group is the API group of the kinds of this test.
	group string
}

// newEnv returns an env in which a manager runs.
func newEnv(t testing.TB) *env {
	t.Helper()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	return b
}

// idle returns an env without a manager.
func idle(t testing.TB, c *harness.Cluster) *env {
	t.Helper()
	b := &env{Cluster: c, t: t, stop: func() {}, group: c.Unique("g") + ".example.org"}
	b.fetcher, b.loader = &fetcher{}, &loader{}
	b.options = transform.Options{
		Fetcher: b.fetcher, Loader: b.loader, Namespace: c.Namespace,
		Backoff: 50 * time.Millisecond, Settle: time.Millisecond,
	}
	inprocess.Install(t, c)
	var err error
	if b.client, err = client.NewWithWatch(c.Config, client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.clean)
	return b
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := transform.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// clean deletes what is outside of the test's namespace.
func (b *env) clean() {
	b.stop()
	ctx := context.Background()
	var all v1alpha1.TransformList
	if err := b.client.List(ctx, &all, client.InNamespace(b.Namespace)); err == nil {
		for i := range all.Items {
			t := &all.Items[i]
			_ = b.client.Patch(ctx, t, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
	}
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := b.client.List(ctx, &crds); err == nil {
		for i := range crds.Items {
			if crds.Items[i].Spec.Group == b.group {
				_ = b.client.Delete(ctx, &crds.Items[i])
			}
		}
	}
}

// start runs a manager with fresh caches until stop is called or the test ends.
func (b *env) start(config *rest.Config) {
	b.t.Helper()
	byObject := transform.ByObject(b.options.Namespace)
	for object, options := range byObject {
		if _, ok := object.(*v1alpha1.Transform); ok {
			// Managers of other tests would refuse the Transforms of this one.
			options.Namespaces = map[string]cache.Config{b.Namespace: {}, b.Unique("other"): {}}
			byObject[object] = options
		}
	}
	mgr, err := inprocess.NewManager(config, scheme(b.t), byObject)
	if err != nil {
		b.t.Fatal(err)
	}
	b.catalog = catalog.New()
	b.options.Catalog = b.catalog
	if err := transform.Setup(mgr, b.options); err != nil {
		b.t.Fatal(err)
	}
	b.stop = inprocess.Start(b.t, mgr, "graceful shutdown")
}

// fetcher "fetches" by writing down the spec. It is what a fetcher of inline and embedded
// modules does.
type fetcher struct {
	mu      sync.Mutex
	err     error
	moved   string // replaces the inline module of every Transform
	fetches int
}

func (f *fetcher) set(err error, moved string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.moved = err, moved
}

func (f *fetcher) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fetches
}

// encoded are the sources of the tests.
type encoded struct {
	Name string
	Spec v1alpha1.TransformSpec
}

func (f *fetcher) Fetch(_ context.Context, t *v1alpha1.Transform) (*fetch.Fetched, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fetches++
	if f.err != nil {
		return nil, f.err
	}
	// Only these fields decide about the platform.
	in := encoded{t.Name, v1alpha1.TransformSpec{CueRef: t.Spec.CueRef, Group: t.Spec.Group, Kind: t.Spec.Kind, Plural: t.Spec.Plural}}
	if f.moved != "" {
		in.Spec.CueRef.Ref = f.moved
	}
	sources, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return &fetch.Fetched{Sources: sources, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(sources)), Moving: f.moved != ""}, nil
}

// loader evaluates in this process.
type loader struct {
	mu sync.Mutex
	// samples counts the evaluations of samples, and stopped is their error.
	samples int
	stopped error
}

func (l *loader) Forget(types.NamespacedName) {}

// stop has the following evaluations of samples stopped, unless err is nil. It returns the number of
// evaluations so far.
func (l *loader) stop(err error) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = err
	return l.samples
}

func (l *loader) Load(ctx context.Context, key worker.Key, data []byte) (*worker.Loaded, error) {
	p, err := l.platform(ctx, data)
	if err != nil {
		return nil, err
	}
	made, err := crd.Generate(p)
	if err != nil {
		return nil, err
	}
	return &worker.Loaded{
		CRD: made.CRD, Names: p.Names, Notes: made.Notes, Module: worker.Content{Digest: p.Module.Digest, Version: p.Module.Version},
		StatusFields: crdgen.OwnStatus(made.CRD),
	}, nil
}

func (l *loader) Sample(ctx context.Context, key worker.Key, data []byte) ([]*v1alpha1.ResourceGraph, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.samples++; l.stopped != nil {
		return nil, l.stopped
	}
	p, err := l.platform(ctx, data)
	if err != nil {
		return nil, err
	}
	return vet.Graphs(ctx, p, render.Limits{Timeout: time.Minute, Memory: 1 << 30})
}

func (l *loader) platform(ctx context.Context, data []byte) (*render.Platform, error) {
	var in encoded
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	opened, err := sources.Open(ctx, &modules.Opener{}, in.Name, in.Spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		return nil, err
	}
	return opened.Load()
}

// appModule is the module of most tests, with what INPUT and NODES stand for. Its graph has a
// ConfigMap.
func (b *env) appModule(input string) string {
	return `
package app

#Platform: {group: "` + b.group + `", kind: "App"}
#Input: {` + input + `}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: first: resource: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
		data: text: input.spec.text
	}
}
`
}

// transform returns a Transform with an inline module.
func (b *env) transform(name, module string, edits ...func(*v1alpha1.Transform)) *v1alpha1.Transform {
	t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	t.Spec.CueRef = v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: module}
	for _, edit := range edits {
		edit(t)
	}
	return t
}

// create creates an object.
func (b *env) create(object client.Object) {
	b.t.Helper()
	if err := b.client.Create(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
}

// edit changes the Transform with a name, however often it is changed at the same time.
func (b *env) edit(name string, change func(*v1alpha1.Transform)) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		t := &v1alpha1.Transform{}
		if err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, t); err != nil {
			return err
		}
		change(t)
		return b.client.Update(ctx, t)
	})
}

// until waits until a Transform satisfies check, and returns it.
func (b *env) until(name string, check func(*v1alpha1.Transform) error) *v1alpha1.Transform {
	b.t.Helper()
	t := &v1alpha1.Transform{}
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		if err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, t); err != nil {
			return err
		}
		if err := check(t); err != nil {
			text, _ := json.Marshal(t.Status)
			return fmt.Errorf("%w; status: %s", err, text)
		}
		return nil
	})
	return t
}

// ready waits until a Transform is ready in its generation.
func (b *env) ready(name string) *v1alpha1.Transform {
	b.t.Helper()
	return b.until(name, func(t *v1alpha1.Transform) error {
		if t.Status.ObservedGeneration != t.Generation || t.Status.Phase != v1alpha1.TransformReady {
			return fmt.Errorf("not ready in generation %d", t.Generation)
		}
		return nil
	})
}

// blocked waits until a Transform is not ready for a reason.
func (b *env) blocked(name, condition, reason, message string) *v1alpha1.Transform {
	b.t.Helper()
	return b.until(name, func(t *v1alpha1.Transform) error {
		for _, kind := range []string{condition, v1alpha1.ConditionReady} {
			c := apimeta.FindStatusCondition(t.Status.Conditions, kind)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || !strings.Contains(c.Message, message) {
				return fmt.Errorf("condition %s isn't False, %s, %q", kind, reason, message)
			}
		}
		return nil
	})
}

// listed returns an error unless the catalog has a platform.
func (b *env) listed(context.Context) error {
	if len(b.catalog.Entries()) == 0 {
		return errors.New("the catalog is empty")
	}
	return nil
}

// crd returns a CRD of the test's group, or nil.
func (b *env) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	b.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Name: name}, crd); client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	} else if err != nil {
		return nil
	}
	return crd
}

// event waits for an Event about a Transform.
func (b *env) event(name, reason, text string) {
	b.t.Helper()
	b.AwaitEvent(b.t, patience, "Transform", name, reason, text)
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
