package main

import "fmt"

// workload is a set of objects that floor and applier create. Both get the same
// objects, the floor as requests and the applier as a graph.
type workload struct {
	// objects returns the objects for a namespace, level by level. A level is
	// applied when the one before it is ready.
	objects func(namespace string) [][]object
	// count is the number of objects, by which requests are divided.
	count int
	// aims are the ratios of the design, by verb; "" where it has none.
	aims map[string]string
}

// object is one object of a workload. The body is the complete object, with its
// apiVersion, kind and metadata.
type object struct {
	kind kind
	name string
	body map[string]any
}

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
)

// workloads are the cases of the part cli: 60 pairs of a ConfigMap and a
// Deployment in 6 levels, and 100 stacks of four objects without dependencies.
// pairs measures how fast one level follows the other, stacks how fast
// independent objects are applied. The aims are those of the design: the largest
// ratio to the floor.
var workloads = map[string]workload{
	"pairs":  {objects: pairs, count: 120, aims: map[string]string{create: "1.0"}},
	"stacks": {objects: stacks, count: 400, aims: map[string]string{create: "1.05", again: "0.25"}},
}

// pairs returns 6 levels of 10 pairs each. A level needs the Deployments of the
// level before it.
func pairs(namespace string) [][]object {
	var levels [][]object
	for level := range 6 {
		var objects []object
		for i := range 10 {
			name := fmt.Sprintf("pair-%d-%d", level, i)
			objects = append(objects,
				newObject(configMaps, namespace, name, map[string]any{"data": map[string]any{"level": fmt.Sprint(level), "key": "value"}}),
				deployment(namespace, name))
		}
		levels = append(levels, objects)
	}
	return levels
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

// newObject completes content with the kind, the name and the labels that every
// object has. It modifies content.
func newObject(k kind, namespace, name string, content map[string]any) object {
	content["apiVersion"], content["kind"] = k.apiVersion, k.kind
	content["metadata"] = map[string]any{
		"name": name, "namespace": namespace, "labels": map[string]any{"app.kubernetes.io/name": name, "team": "bench"},
	}
	return object{k, name, content}
}

// service returns a Service for the Pods of the Deployment with the same name.
func service(namespace, name string) object {
	return newObject(services, namespace, name, map[string]any{"spec": map[string]any{
		"selector": map[string]any{"app": name},
		"ports":    []any{map[string]any{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}},
	}})
}

// deployment returns a Deployment of one Pod with the usual fields of an
// application. The defaults of the server add many more to the stored object.
func deployment(namespace, name string) object {
	labels := map[string]any{"app": name}
	container := map[string]any{
		"name": "web", "image": "registry.example.com/team/web:1.0",
		"ports":     []any{map[string]any{"name": "http", "containerPort": 8080, "protocol": "TCP"}},
		"env":       []any{map[string]any{"name": "LOG_LEVEL", "value": "info"}, map[string]any{"name": "REGION", "value": "eu"}},
		"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "16Mi"}},
	}
	return newObject(deployments, namespace, name, map[string]any{"spec": map[string]any{
		"replicas": 1,
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{container}},
		},
	}})
}

// ingress returns an Ingress that routes a host to the Service with the same
// name.
func ingress(namespace, name string) object {
	backend := map[string]any{"service": map[string]any{"name": name, "port": map[string]any{"name": "http"}}}
	return newObject(ingresses, namespace, name, map[string]any{"spec": map[string]any{
		"rules": []any{map[string]any{
			"host": name + ".example.com",
			"http": map[string]any{"paths": []any{map[string]any{"path": "/", "pathType": "Prefix", "backend": backend}}},
		}},
	}})
}
