package source_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/archive"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
	"github.com/pequod-io/pequod/test/workers"
)

func TestMain(m *testing.M) { workers.Main(m) }

// patience is how long a test waits for what is to come.
const patience = 3 * time.Minute

// fluxVersion is the API version of the sources of Flux.
const fluxVersion = "source.toolkit.fluxcd.io/v1"

//go:embed testdata/externalartifacts.yaml
var externalArtifacts string

//go:embed testdata/sources.yaml
var gitRepositories string

// appModule is the module of the tests.
const appModule = `
package app

#Platform: {group: "example.org", kind: "App"}
#Input: {
	text: string
	name?: string
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: first: resource: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: {name: *input.spec.name | input.metadata.name, namespace: input.metadata.namespace}
			data: text: input.spec.text
		}
		if input.spec.text == "forbidden" {
			violations: [{path: "spec.text", message: "must not be forbidden"}]
		}
	}
}
`

// env is a namespace with a manager that handles its InstanceSources, and a server for the
// artifacts of its sources.
type env struct {
	*harness.Cluster
	t       testing.TB
	client  client.Client // of the test, which reads from the API server
	catalog *catalog.Catalog
	pool    *worker.Pool
	store   *artifact.Store
	options source.Options
	quota   int64 // of the namespace, in bytes
	stop    func()
	// ahead is the number of nanoseconds by which the clock of the manager is ahead. evaluations,
	// reconciliations, errors and failing count evaluations in the pool, reconciliations, those of them that
	// failed, and requests for /failing.
	ahead, evaluations, reconciliations, errors, failing atomic.Int64
	// unlisted is the number of lists of archives that fail.
	unlisted atomic.Int64
	// evaluated is called after every evaluation, unless it is nil.
	evaluated atomic.Pointer[func()]

	sources *httptest.Server
	mu      sync.Mutex // guards files
	// files are what the server of the sources has, by path.
	files map[string][]byte
}

// newEnv returns an env in which a manager runs, with a platform and the definitions of Flux.
func newEnv(t testing.TB, o source.Options) *env {
	t.Helper()
	b := idle(t, harness.Start(t))
	b.options = o
	b.Apply(t, externalArtifacts)
	b.Apply(t, gitRepositories)
	b.platform(appModule)
	b.start()
	return b
}

// idle returns an env without a manager and the definitions of Flux.
func idle(t testing.TB, c *harness.Cluster) *env {
	t.Helper()
	inprocess.Install(t, c)
	b := &env{Cluster: c, t: t, catalog: catalog.New(), stop: func() {}, files: map[string][]byte{}}
	b.pool = workers.Pool(t, worker.Options{Metrics: renders{b}})
	var err error
	if b.client, err = client.New(c.Config, client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	b.sources = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.sources.Close)
	return b
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), v1alpha1.AddInstanceSources(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// platform makes a module the platform of the catalog.
func (b *env) platform(module string) {
	b.t.Helper()
	b.catalog.Set(b.entry(module))
}

// entry returns the entry of a module in the catalog.
func (b *env) entry(module string) *catalog.Entry {
	b.t.Helper()
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: module}}
	opened, err := transform.Open(b.t.Context(), &modules.Opener{}, "app", spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		b.t.Fatal(err)
	}
	data, err := opened.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	key := worker.Key{Transform: types.NamespacedName{Namespace: b.Namespace, Name: "app"}, Digest: transform.Digest(data)}
	loaded, err := b.pool.Load(b.t.Context(), key, data)
	if err != nil {
		b.t.Fatal(err)
	}
	return &catalog.Entry{Transform: key.Transform, Digest: key.Digest, Sources: data, Module: catalog.Module(loaded.Module), Names: loaded.Names}
}

// start runs a manager with fresh caches until stop is called or the test ends.
func (b *env) start() {
	b.t.Helper()
	byObject := map[client.Object]cache.ByObject{}
	for object, options := range source.ByObject() {
		// Managers of other tests would handle the InstanceSources of this one.
		options.Namespaces = map[string]cache.Config{b.Namespace: {}}
		byObject[object] = options
	}
	maps.Copy(byObject, blob.ByObject(b.Namespace))
	mgr, err := inprocess.NewManager(b.Config, scheme(b.t), byObject)
	if err != nil {
		b.t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }
	b.store = &artifact.Store{Client: lister{mgr.GetClient(), b}, API: mgr.GetAPIReader(), Namespace: b.Namespace, NamespaceQuota: b.quota, Now: now}
	artifacts := httptest.NewUnstartedServer(nil)
	artifacts.Config = artifact.Server(b.store, logr.Discard())
	artifacts.Start()
	b.t.Cleanup(artifacts.Close)
	o := b.options
	o.Transforms = func(namespace string) bool { return namespace == b.Namespace }
	o.Catalog, o.Evaluator, o.Store, o.URL, o.Backoff = b.catalog, instance.Pooled(b.pool, nil), b.store, artifacts.URL, cmp.Or(o.Backoff, 50*time.Millisecond)
	o.Now, o.Metrics = now, reconciles{b}
	if err := source.Setup(mgr, o); err != nil {
		b.t.Fatal(err)
	}
	b.stop = inprocess.Start(b.t, mgr, "graceful shutdown")
}

// lister is the client of the archives.
type lister struct {
	client.Client
	*env
}

// List fails as it does if the API server can't say which kinds it serves.
func (l lister) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if l.unlisted.Add(-1) >= 0 {
		return errors.New("failed to get server groups")
	}
	return l.Client.List(ctx, list, o...)
}

// renders counts the evaluations of the pool.
type renders struct{ *env }

func (r renders) Rendered(string, time.Duration, string) {
	r.evaluations.Add(1)
	if f := r.evaluated.Load(); f != nil {
		(*f)()
	}
}
func (r renders) Processes(int)         {}
func (r renders) Failed(string, string) {}
func (r renders) Forgotten(string)      {}

// reconciles counts the reconciliations of a manager.
type reconciles struct{ *env }

func (r reconciles) Reconciled(outcome string, _ time.Duration) {
	r.reconciliations.Add(1)
	if outcome == "error" {
		r.errors.Add(1)
	}
}
func (r reconciles) ReconcileFailed(string) {}

// serve is the server of the sources.
func (b *env) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	data, found := b.files[r.URL.Path]
	b.mu.Unlock()
	switch {
	case r.URL.Path == "/failing": // each time with another message
		w.WriteHeader(500 + int(b.failing.Add(1)))
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	case !found:
		http.NotFound(w, r)
	default:
		_, _ = w.Write(data)
	}
}

// packed returns an archive of files.
func packed(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var all []archive.File
	for name, text := range files {
		all = append(all, archive.File{Name: name, Data: []byte(text)})
	}
	data, err := archive.Pack(all, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// artifact returns the status of an archive, which the server of the sources has.
func (b *env) artifact(revision string, data []byte) map[string]any {
	path := "/" + strings.NewReplacer("@", "-", ":", "-", "/", "-").Replace(revision) + ".tar.gz"
	b.mu.Lock()
	b.files[path] = data
	b.mu.Unlock()
	return map[string]any{
		"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(data)), "path": path, "url": b.sources.URL + path, "revision": revision,
		"lastUpdateTime": "2026-01-01T00:00:00Z",
	}
}

// repository makes a GitRepository without an artifact.
func (b *env) repository(name string) {
	b.t.Helper()
	b.Apply(b.t, "apiVersion: "+fluxVersion+"\nkind: GitRepository\nmetadata: {name: "+name+"}\n")
}

// push makes files the artifact of the GitRepository apps.
func (b *env) push(revision string, files map[string]string) {
	b.t.Helper()
	b.SetStatus(b.t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": b.artifact(revision, packed(b.t, files))})
}

// instanceSource makes an InstanceSource.
func (b *env) instanceSource(name, spec string) {
	b.t.Helper()
	b.Apply(b.t, "apiVersion: platform.pequod.io/v1alpha1\nkind: InstanceSource\nmetadata: {name: "+name+"}\nspec: "+spec+"\n")
}

// remove deletes an InstanceSource.
func (b *env) remove(name string) {
	b.t.Helper()
	in := &v1alpha1.InstanceSource{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name}}
	if err := b.client.Delete(b.t.Context(), in); err != nil {
		b.t.Fatal(err)
	}
}

// apps makes the GitRepository apps with files, and the InstanceSource apps of the directory apps.
func (b *env) apps(files map[string]string) {
	b.t.Helper()
	b.repository("apps")
	b.push("main@sha1:1", files)
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}, path: ./apps}")
}

// until waits until an InstanceSource satisfies check, and returns it.
func (b *env) until(name string, check func(*v1alpha1.InstanceSource) error) *v1alpha1.InstanceSource {
	b.t.Helper()
	in := &v1alpha1.InstanceSource{}
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		if err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: name}, in); err != nil {
			return err
		}
		if err := check(in); err != nil {
			return fmt.Errorf("%w; status: %+v", err, in.Status)
		}
		return nil
	})
	return in
}

// rendered waits until the InstanceSource apps is ready with a revision of its source.
func (b *env) rendered(revision string) *v1alpha1.InstanceSource {
	b.t.Helper()
	return b.until("apps", func(in *v1alpha1.InstanceSource) error {
		if in.Status.ObservedSourceRevision != revision || !apimeta.IsStatusConditionTrue(in.Status.Conditions, "Ready") || in.Status.ObservedGeneration != in.Generation {
			return fmt.Errorf("revision %s isn't ready", revision)
		}
		return nil
	})
}

// failed waits until the InstanceSource apps is not ready for a reason.
func (b *env) failed(reason, message string) *v1alpha1.InstanceSource {
	b.t.Helper()
	return b.failedOf("apps", reason, message)
}

func (b *env) failedOf(name, reason, message string) *v1alpha1.InstanceSource {
	b.t.Helper()
	return b.until(name, func(in *v1alpha1.InstanceSource) error {
		c := apimeta.FindStatusCondition(in.Status.Conditions, "Ready")
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || c.Message != message || in.Status.ObservedGeneration != in.Generation {
			return fmt.Errorf("Ready isn't False, %s, %q", reason, message)
		}
		return nil
	})
}

// external returns an ExternalArtifact and its artifact.
func (b *env) external(name string) (*unstructured.Unstructured, *meta.Artifact) {
	b.t.Helper()
	object := b.Get(b.t, fluxVersion, "ExternalArtifact", name)
	status, _, err := unstructured.NestedMap(object.Object, "status", "artifact")
	a := &meta.Artifact{}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(status, a)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return object, a
}

// download returns the files of an artifact as Flux fetches them: they must have the digest and
// the size of the artifact.
func (b *env) download(a *meta.Artifact) map[string]string {
	b.t.Helper()
	response, err := http.Get(a.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.t.Fatal(response.Status, err)
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != a.Digest || a.Size == nil || *a.Size != int64(len(data)) {
		b.t.Fatalf("%s has the digest %s; want %s", a.URL, got, a.Digest)
	}
	files, err := archive.Unpack(bytes.NewReader(data), archive.Options{Bytes: 1 << 20, Files: 100, Read: 1 << 20})
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = string(f.Data)
	}
	return all
}

// app returns an instance.
func app(name, spec string) string {
	return "apiVersion: example.org/v1alpha1\nkind: App\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

// names returns the sorted keys of a map.
func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
