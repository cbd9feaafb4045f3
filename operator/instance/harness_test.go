package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
	"github.com/pequod-io/pequod/test/workers"
)

func TestMain(m *testing.M) { workers.Main(m) }

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
		if input.spec.text == "unwatched" {
			nodes: watch: resource: {
				apiVersion: "platform.pequod.io/v1alpha1"
				kind:       "Monitor"
				metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
				spec: {
					serviceAccountName: "a"
					target: url: "https://example.com"
					probe: graphql: query: "{ health }"
					rules: [{name: "ill", when: "state.mood == 'bad'"}]
				}
			}
		}
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
	// program is the one that runs.
	program string
	// renders is set if the manager doesn't execute the graphs.
	renders bool
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
	inprocess.Install(t, c)
	inprocess.Account(t, c, "pequod", inprocess.Anything())
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
	var graphs *instance.Graphs
	if !b.renders {
		graphs = instance.NewGraphs()
		if err := controller.Setup(mgr, controller.Options{
			Namespace: b.Namespace, Operator: &controller.Operator{Graphs: graphs, Account: func(rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
				return types.NamespacedName{Namespace: b.Namespace, Name: rg.Annotations[v1alpha1.AnnotationAccount]}, nil
			}},
		}); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := instance.Setup(mgr, instance.Options{
		Catalog: b.catalog, Renderer: b.renderer, Program: b.program, Metrics: b.metrics, Graphs: graphs, RenderOnly: b.renders,
	}); err != nil {
		b.t.Fatal(err)
	}
	b.stop = inprocess.Start(b.t, mgr, "")
}

// patience is how long a test waits for what is to come.
const patience = 3 * time.Minute
