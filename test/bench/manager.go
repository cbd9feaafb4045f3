package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/api/v1alpha1"
	applier "github.com/pequod-io/pequod/applier/controller"
	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/worker"
)

// benchModule returns a module whose instances have the objects of the part graphs.
func benchModule() (string, error) {
	var b strings.Builder
	b.WriteString("package app\n#Platform: {group: \"bench.example.com\", kind: \"App\"}\n#Input: mode: string\n" +
		"#Render: {\n\tinput: {metadata: {name: string, namespace: string}, spec: #Input}\n\toutput: nodes: {\n")
	const name, namespace = "APP-NAME", "APP-NAMESPACE"
	for _, o := range applicationObjects(namespace, name) {
		raw, err := json.Marshal(o.body)
		if err != nil {
			return "", err
		}
		needs, err := json.Marshal(strings.Split(strings.Join(o.needs, " "), " "))
		if err != nil {
			return "", err
		}
		if len(o.needs) == 0 {
			needs = []byte("[]")
		}
		fmt.Fprintf(&b, "\t\t%q: {resource: %s, dependencies: %s}\n", o.id(), raw, needs)
	}
	b.WriteString("\t}\n}\n")
	// JSON is CUE, and its strings may have expressions.
	text := strings.ReplaceAll(b.String(), namespace, `\(input.metadata.namespace)`)
	ids := strings.NewReplacer(`-`+name+`"`, `"`)
	return strings.ReplaceAll(ids.Replace(text), name, `\(input.metadata.name)`), nil
}

// benchPlatform returns the platform of the part instances, with its encoded sources.
func benchPlatform(ctx context.Context) (*catalog.Entry, *apiextensionsv1.CustomResourceDefinition, error) {
	text, err := benchModule()
	if err != nil {
		return nil, nil, err
	}
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: text}, ServiceAccountName: "pequod"}
	opened, err := transform.Open(ctx, &modules.Opener{}, "app", spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		return nil, nil, err
	}
	sources, err := opened.Encode()
	if err != nil {
		return nil, nil, err
	}
	p, err := opened.Load()
	if err != nil {
		return nil, nil, err
	}
	made, err := crd.Generate(p)
	if err != nil {
		return nil, nil, err
	}
	return &catalog.Entry{
		Transform: types.NamespacedName{Namespace: system, Name: "app"}, Digest: transform.Digest(sources), Sources: sources,
		Names: p.Names, Module: catalog.Module{Digest: p.Module.Digest}, IgnoresLabels: true, IgnoresAnnotations: true,
	}, made.CRD, nil
}

// defineInstances applies the CRD of the instances, and waits until it is served.
func (c *controlPlane) defineInstances(ctx context.Context) error {
	_, made, err := benchPlatform(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"apiVersion": made.APIVersion, "kind": made.Kind, "metadata": map[string]any{"name": made.Name}, "spec": made.Spec})
	if err != nil {
		return err
	}
	rest := c.client.CoreV1().RESTClient()
	err = rest.Patch(types.ApplyPatchType).AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made.Name).
		Param("fieldManager", "bench").Body(raw).Do(ctx).Error()
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		return rest.Get().AbsPath("/apis", instances.apiVersion, instances.resource).Do(ctx).Error() == nil, nil
	})
}

// runManager runs the controllers of pequod-manager for instances and graphs, with the
// platform in the catalog from the start.
func runManager(ctx context.Context, j job) error {
	debug.SetGCPercent(50) // as pequod-manager does; earlygc has changed it for the command line
	config, err := clientcmd.BuildConfigFromFlags("", j.Kubeconfig)
	if err != nil {
		return err
	}
	scheme := k8sruntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	entry, _, err := benchPlatform(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pequod-bench-sources-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pool, err := worker.New(worker.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer pool.Close()
	platforms := catalog.New()
	platforms.Set(entry)
	return program.Run(ctx, config, program.Options{
		Name: account, Version: "bench", Log: logr.Discard(), Scheme: scheme,
		Metrics: program.Metrics{Address: j.Metrics}, Probes: j.Probes,
		Election: program.Election{Enabled: true, Namespace: system},
		Setup: func(m manager.Manager) error {
			recorder, graphs := appliermetrics.New(metrics.Registry), instance.NewGraphs()
			err := applier.Setup(m, applier.Options{Metrics: recorder, AtRest: debug.FreeOSMemory, Operator: &applier.Operator{
				Graphs: graphs,
				Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) {
					return types.NamespacedName{}, errors.New("the graphs name their account")
				},
			}})
			if err != nil {
				return err
			}
			return instance.Setup(m, instance.Options{
				Catalog: platforms, Renderer: instance.Pooled(pool, nil), Metrics: recorder.Controller("platforminstance"), Graphs: graphs,
			})
		},
	})
}
