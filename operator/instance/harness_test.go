package instance_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/worker/child"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/test/harness"
)

// More tests run at once than there are processors: they mostly wait.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(child.Serve(os.Stdin, os.Stdout))
	}
	ctrl.SetLogger(logr.Discard())
	if err := flag.Set("test.parallel", strconv.Itoa(2*goruntime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run()) // parses the flags
}

// appModule is the module of most tests. GROUP stands for the group of its kind.
const appModule = `
package app

#Platform: {group: "GROUP", kind: "App"}
#Input: {
	// Text of the ConfigMap.
	text: string
	// Another ConfigMap depends on the first one if this is set.
	second?: string
	// The first ConfigMap is named after the instance unless this is set.
	name?: string
	// The ConfigMap is ready only if it has this key.
	wants?: string
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: first: {
			resource: {
				apiVersion: "v1"
				kind:       "ConfigMap"
				metadata: {
					name:      *input.spec.name | input.metadata.name
					namespace: input.metadata.namespace
				}
				data: text: input.spec.text
			}
			if input.spec.wants != _|_ {
				readyWhen: [{type: "Expression", expr: "'\(input.spec.wants)' in object.data"}]
			}
		}
		if input.spec.second != _|_ {
			nodes: second: {
				resource: {
					apiVersion: "v1"
					kind:       "ConfigMap"
					metadata: {name: input.metadata.name + "-second", namespace: input.metadata.namespace}
					data: text: input.spec.second
				}
				dependencies: ["first"]
			}
		}
		outputs: text: "$from": "first.data.text"
		if input.spec.text == "broken" {
			nodes: first: resource: data: text: "other"
		}
		if input.spec.text == "forbidden" {
			violations: [{path: "spec.text", message: "must not be forbidden"}]
		}
	}
}
`

// env is a namespace with a manager that handles the instances of one platform, and executes
// their graphs as an account that may do anything there.
type env struct {
	*harness.Cluster
	t       testing.TB
	catalog *catalog.Catalog
	local   *local
	// renderer is local, unless a test replaces it.
	renderer instance.Renderer
	// transform is the name of the Transform of the platform.
	transform string
	metrics   instance.Recorder
	entry     catalog.Entry
	stop      func()
}

// local renders in this process.
type local struct {
	mu        sync.Mutex
	platforms map[string]*render.Platform // by digest of the entry
	renders   map[string]int              // by instance
	// fail is returned instead of a rendering if it gives problems or an error.
	fail func(*unstructured.Unstructured) (problem.List, error)
}

// Render implements [instance.Renderer].
func (l *local) Render(_ context.Context, e *catalog.Entry, in *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error) {
	l.mu.Lock()
	l.renders[in.GetName()]++
	fail, platform := l.fail, l.platforms[e.Digest]
	l.mu.Unlock()
	if fail != nil {
		if ps, err := fail(in); len(ps) > 0 || err != nil {
			return nil, ps, err
		}
	}
	return renderLocally(platform, in.Object)
}

// set makes renderings fail, or not if fail is nil.
func (l *local) set(fail func(*unstructured.Unstructured) (problem.List, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

func (l *local) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renders[name]
}

// renderLocally renders an object as pequod render does.
func renderLocally(p *render.Platform, object map[string]any) (*v1alpha1.ResourceGraph, problem.List, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	for in, ps := range render.Instances("instance", raw) {
		if in == nil || ps.Failed() {
			return nil, ps, nil
		}
		if ps = append(ps, in.SetNamespaces(p, "default")...); ps.Failed() {
			return nil, ps, nil
		}
		r := render.Renderer{}
		result := r.Render(in, p)
		return result.Graph, append(ps, result.Problems...), nil
	}
	return nil, nil, errors.New("no instance")
}

// load loads a module as a platform of the Transform "app".
func load(t testing.TB, text string, spec v1alpha1.TransformSpec) *render.Platform {
	t.Helper()
	m, err := render.Load(render.Source{FS: fstest.MapFS{"app.cue": {Data: []byte(text)}}, Dir: ".", Ref: "app"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := render.NewPlatform("app", spec, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newEnv returns an env in which a manager runs.
func newEnv(t testing.TB) *env {
	t.Helper()
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	return b
}

// idle returns an env without a manager.
func idle(t testing.TB, c *harness.Cluster) *env {
	t.Helper()
	b := &env{Cluster: c, t: t, stop: func() {}, catalog: catalog.New(), transform: "app"}
	b.local = &local{platforms: map[string]*render.Platform{}, renders: map[string]int{}}
	b.renderer = b.local
	files, err := filepath.Glob("../../config/crd/platform.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Apply(t, string(text))
	}
	b.ServiceAccount(t, b.Namespace, "pequod")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pequod"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}}
	if _, err := b.Client.RbacV1().Roles(b.Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "pequod"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "pequod"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "pequod", Namespace: b.Namespace}},
	}
	if _, err := b.Client.RbacV1().RoleBindings(b.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// platform makes a module the platform of the catalog, and applies its CRD.
func (b *env) platform(text string, spec v1alpha1.TransformSpec) *render.Platform {
	b.t.Helper()
	p := load(b.t, strings.ReplaceAll(text, "GROUP", b.Unique("g")+".example.org"), spec)
	made, err := crd.Generate(p)
	if err != nil {
		b.t.Fatal(err)
	}
	b.define(made.CRD)
	b.local.mu.Lock()
	digest := fmt.Sprintf("sha256:%d", len(b.local.platforms))
	b.local.platforms[digest] = p
	b.local.mu.Unlock()
	b.publish(catalog.Entry{
		Transform: types.NamespacedName{Namespace: b.Namespace, Name: b.transform}, Digest: digest, Names: p.Names,
		Module: catalog.Module{Digest: p.Module.Digest}, Account: types.NamespacedName{Namespace: b.Namespace, Name: "pequod"},
		StatusFields: crdgen.OwnStatus(made.CRD), IgnoresLabels: !p.ReadsLabels(), IgnoresAnnotations: !p.ReadsAnnotations(),
	})
	return p
}

// define applies a generated CRD, and deletes it at the end of the test.
func (b *env) define(made *apiextensionsv1.CustomResourceDefinition) {
	b.t.Helper()
	definition, err := crdgen.Marshal(made)
	if err != nil {
		b.t.Fatal(err)
	}
	known := b.entry.Names.Group != ""
	b.Apply(b.t, string(definition))
	if !known {
		b.t.Cleanup(func() {
			definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
			if err == nil {
				err = definitions.Delete(context.Background(), made.Name, metav1.DeleteOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) {
				b.t.Log(err)
			}
		})
	}
}

// second adds another platform, whose instances the methods of b are about from now on.
func (b *env) second(text string) {
	b.t.Helper()
	b.entry = catalog.Entry{}
	b.transform = "other"
	b.platform(text, v1alpha1.TransformSpec{})
}

// publish lists the platform in the catalog.
func (b *env) publish(e catalog.Entry) {
	b.entry = e
	b.catalog.Set(&e)
}

// start runs a manager until stop is called or the test ends.
func (b *env) start(config *rest.Config) {
	b.t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		b.t.Fatal(err)
	}
	mgr, err := manager.New(config, manager.Options{Scheme: scheme, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := controller.Setup(mgr, controller.Options{
		Namespace: b.Namespace, Operator: &controller.Operator{Account: func(rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
			return types.NamespacedName{Namespace: b.Namespace, Name: rg.Annotations[v1alpha1.AnnotationAccount]}, nil
		}},
	}); err != nil {
		b.t.Fatal(err)
	}
	if err := instance.Setup(mgr, instance.Options{Catalog: b.catalog, Renderer: b.renderer, Metrics: b.metrics}); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("manager: %v", err)
		}
	})
	b.t.Cleanup(func() { b.stop() })
}

// patience is how long a test waits for what is to come.
const patience = 60 * time.Second

func (b *env) instances() dynamic.ResourceInterface {
	b.t.Helper()
	return b.Await(b.t, b.entry.Names.Group+"/"+b.entry.Names.Version, b.entry.Names.Kind, b.Namespace)
}

func (b *env) graphs() dynamic.ResourceInterface {
	return b.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(b.Namespace)
}

// apply applies an instance as kubectl apply --server-side does. Spec is YAML.
func (b *env) apply(name, spec string) *unstructured.Unstructured {
	b.t.Helper()
	in := b.manifest(name, spec)
	stored, err := b.instances().Apply(b.t.Context(), name, in, metav1.ApplyOptions{FieldManager: "developer", Force: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return stored
}

// manifest returns an instance as a developer writes it.
func (b *env) manifest(name, spec string) *unstructured.Unstructured {
	b.t.Helper()
	in := &unstructured.Unstructured{Object: map[string]any{}}
	in.SetAPIVersion(b.entry.Names.Group + "/" + b.entry.Names.Version)
	in.SetKind(b.entry.Names.Kind)
	in.SetName(name)
	if b.entry.Names.Scope == v1alpha1.ScopeNamespaced {
		in.SetNamespace(b.Namespace)
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		b.t.Fatal(err)
	}
	in.Object["spec"] = content
	return in
}

// merge changes an instance as kubectl patch does.
func (b *env) merge(name, patch string) {
	b.t.Helper()
	if _, err := b.instances().Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// app is an instance as the tests read it.
type app struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase                  string             `json:"phase"`
		ObservedGeneration     int64              `json:"observedGeneration"`
		LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
		Conditions             []metav1.Condition `json:"conditions"`
		Outputs                map[string]any     `json:"outputs"`
		ResourceGraphRef       struct{ Name, Namespace string }
		Module                 struct{ Digest, Version string }
		Nodes                  struct{ Total, Ready, Failed int }
		FirstFailure           *struct{ Node, Reason, Message string }
	} `json:"status"`
}

func (b *env) read(ctx context.Context, name string) (*app, error) {
	obj, err := b.instances().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	a := &app{}
	return a, json.Unmarshal(raw, a)
}

// until waits for an instance to be as a check wants it.
func (b *env) until(name string, check func(*app) error) *app {
	b.t.Helper()
	var found *app
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		a, err := b.read(ctx, name)
		if err != nil {
			return err
		}
		if err := check(a); err != nil {
			status, _ := yaml.Marshal(a.Status)
			return fmt.Errorf("%w:\n%s", err, status)
		}
		found = a
		return nil
	})
	return found
}

// condition wants a condition Ready of the generation that is stored.
func condition(status metav1.ConditionStatus, reason, message string) func(*app) error {
	return func(a *app) error {
		c := meta.FindStatusCondition(a.Status.Conditions, "Ready")
		switch {
		case c == nil:
			return errors.New("no condition Ready")
		case a.Status.ObservedGeneration != a.Generation || c.ObservedGeneration != a.Generation:
			return fmt.Errorf("generation %d isn't observed", a.Generation)
		case c.Status != status || reason != "" && c.Reason != reason || !strings.Contains(c.Message, message):
			return fmt.Errorf("Ready is %s %s: %s; want %s %s: %s", c.Status, c.Reason, c.Message, status, reason, message)
		}
		return nil
	}
}

func (b *env) ready(name string) *app {
	b.t.Helper()
	return b.until(name, condition("True", "", ""))
}

// graph returns the graph of a namespaced instance.
func (b *env) graph(name string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg, err := b.readGraph(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return rg
}

func (b *env) readGraph(ctx context.Context, name string) (*v1alpha1.ResourceGraph, error) {
	obj, err := b.graphs().Get(ctx, b.graphName(name), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	rg := &v1alpha1.ResourceGraph{}
	return rg, json.Unmarshal(raw, rg)
}

func (b *env) graphName(name string) string {
	return v1alpha1.GraphName(b.entry.Names.Group, b.entry.Names.Kind, b.Namespace, name)
}

// text returns the text of a ConfigMap, or an error.
func (b *env) text(ctx context.Context, name string) string {
	cm, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	return cm.Data["text"]
}

// eventually waits until a condition holds.
func (b *env) eventually(what string, ok func(ctx context.Context) bool) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		if !ok(ctx) {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

// events returns the Events of an instance, as "REASON: NOTE".
func (b *env) events(ctx context.Context, name string) []string {
	list, err := b.Client.EventsV1().Events(b.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	var texts []string
	for _, e := range list.Items {
		if e.Regarding.Kind == b.entry.Names.Kind && e.Regarding.Name == name {
			texts = append(texts, e.Reason+": "+e.Note)
		}
	}
	return texts
}

// event waits for an Event of an instance that begins with a text.
func (b *env) event(name, text string) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		seen := b.events(ctx, name)
		if slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, text) }) {
			return nil
		}
		return fmt.Errorf("no Event %q; but %q", text, seen)
	})
}

// kubectl runs kubectl in the test's namespace.
func (b *env) kubectl(args ...string) (string, error) {
	b.t.Helper()
	dir := b.t.TempDir()
	harness.Kubectl(b.t, dir)
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(dir, "kubectl"), append(args, "--kubeconfig="+b.Kubeconfig, "-n", b.Namespace)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

type ctx = context.Context

func (b *env) background() ctx { return context.WithoutCancel(b.t.Context()) }

// object returns a graph as it is sent to the API server.
func object(t testing.TB, rg *v1alpha1.ResourceGraph) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}
}

func isGone(err error) bool { return apierrors.IsNotFound(err) }
