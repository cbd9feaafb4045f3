package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// workload is a set of objects that floor and applier create. Both get the same
// objects, the floor as requests and the applier as a graph.
type workload struct {
	name string
	// objects returns the objects for a namespace, level by level. A level is
	// applied when the one before it is ready.
	objects func(namespace string) [][]object
	// count is the number of objects, by which requests are divided.
	count int
	// aim is the largest ratio to the floor that the design allows.
	aim string
}

// workloads are the cases of the part cli: 60 pairs of a ConfigMap and a
// Deployment in 6 levels, and 100 stacks of four objects without dependencies.
// pairs measures how fast one level follows the other, stacks how fast
// independent objects are applied.
var workloads = []workload{
	{"pairs", pairs, 120, "1.0"},
	{"stacks", stacks, 400, "1.05"},
}

// findWorkload returns the workload with a name, which must exist.
func findWorkload(name string) workload {
	return workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })]
}

// object is one object of a workload. The body is the complete object, with its
// apiVersion, kind and metadata.
type object struct {
	kind            kind
	namespace, name string
	body            any
	// needs are the ids of the nodes that must be ready before it is applied.
	needs []string
}

// id is the id of the object's node in a graph, such as "deployments-pair-0-1".
func (o object) id() string { return o.kind.resource + "-" + o.name }

// kind is a Kubernetes kind with its plural resource name. The floor waits until
// objects of an awaited kind are ready.
type kind struct {
	apiVersion, kind, resource string
	awaited                    bool
}

// The kinds of the workloads. Only Deployments take time to become ready in the
// test cluster, and ResourceGraphs as long as their objects.
var (
	configMaps      = kind{"v1", "ConfigMap", "configmaps", false}
	serviceAccounts = kind{"v1", "ServiceAccount", "serviceaccounts", false}
	services        = kind{"v1", "Service", "services", false}
	deployments     = kind{"apps/v1", "Deployment", "deployments", true}
	ingresses       = kind{"networking.k8s.io/v1", "Ingress", "ingresses", false}
	resourceGraphs  = kind{"platform.pequod.io/v1alpha1", "ResourceGraph", "resourcegraphs", true}
	instances       = kind{"bench.example.com/v1alpha1", "App", "apps", true} // of the part instances
)

// pairs returns 6 levels of 10 pairs each. A level needs the Deployments of the
// level before it.
func pairs(namespace string) [][]object {
	var levels [][]object
	var before []string
	for level := range 6 {
		var objects []object
		var needs []string
		for i := range 10 {
			name := fmt.Sprintf("pair-%d-%d", level, i)
			config := newObject(configMaps, namespace, name, map[string]any{"data": map[string]any{"level": fmt.Sprint(level), "key": "value"}})
			app := deployment(namespace, name)
			config.needs, app.needs = before, before
			objects, needs = append(objects, config, app), append(needs, app.id())
		}
		levels, before = append(levels, objects), needs
	}
	return levels
}

// objectsPerGraph is the number of objects of every graph of graphLevels.
const objectsPerGraph = 4

// graphLevels returns the ResourceGraphs of a job, of a small application each, and, for the
// floor, their objects as a second level. If an applier executes the graphs, the
// caller waits until they are ready. Without one, the floor creates the graphs
// too, so that both contestants make the same objects. The graphs are named app-0,
// app-1 and so on, like their objects. If the job has instances, a manager makes the graphs.
func graphLevels(j job, executed bool) ([][]object, error) {
	var owners, graphs, objects []object
	for i := range j.Graphs {
		namespace, name := j.namespaceOf(i), j.nameOf(i)
		of := applicationObjects(namespace, name)
		rg, err := newGraph(namespace, name, of)
		if err != nil {
			return nil, err
		}
		g := object{kind: resourceGraphs, namespace: namespace, name: name, body: rg}
		g.kind.awaited = executed
		graphs, objects = append(graphs, g), append(objects, of...)
		if j.Instances {
			in := newObject(instances, namespace, name, map[string]any{"spec": map[string]any{"mode": "wanted"}})
			in.kind.awaited = executed
			owners = append(owners, in)
		}
	}
	switch {
	case executed && j.Instances:
		return [][]object{owners}, nil
	case executed:
		return [][]object{graphs}, nil
	case j.Instances:
		return [][]object{owners, graphs, objects}, nil
	}
	return [][]object{graphs, objects}, nil
}

// applicationObjects returns the objects of a small application, which is one graph. The
// Deployment depends on the objects that its Pods use.
func applicationObjects(namespace, name string) []object {
	app := deployment(namespace, name)
	account := newObject(serviceAccounts, namespace, name, map[string]any{})
	config := newObject(configMaps, namespace, name, map[string]any{"data": map[string]any{"mode": "wanted"}})
	app.needs = []string{account.id(), config.id()}
	return []object{account, config, service(namespace, name), app}
}

// newGraph returns a ResourceGraph of objects as `pequod render` writes it, with
// the hash of its content.
func newGraph(namespace, name string, objects []object) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ResourceGraph"))
	rg.Namespace, rg.Name = namespace, name
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "pequod.io/v1alpha1", Kind: "App", Name: name}
	rg.Spec.PlatformRef.Module = "example.com/app"
	for _, o := range objects {
		raw, err := json.Marshal(o.body)
		if err != nil {
			return nil, err
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID: o.id(), Resource: &runtime.RawExtension{Raw: raw}, Dependencies: o.needs,
		})
	}
	var err error
	rg.Spec.RenderHash, err = graph.RenderHash(rg.Spec.Graph)
	return rg, err
}

// stacks returns 100 applications of four objects in one level.
func stacks(namespace string) [][]object {
	var objects []object
	for i := range 100 {
		name := fmt.Sprintf("app-%d", i)
		objects = append(objects,
			newObject(serviceAccounts, namespace, name, map[string]any{}),
			service(namespace, name),
			deployment(namespace, name),
			ingress(namespace, name))
	}
	return [][]object{objects}
}
