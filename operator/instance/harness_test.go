package instance_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/crdgen"
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
	go func() { ended <- program.Start(ctx, mgr) }()
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
