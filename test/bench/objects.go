package main

// newObject completes content with the kind, the name and the labels that every
// object has. It modifies content.
func newObject(k kind, namespace, name string, content map[string]any) object {
	content["apiVersion"], content["kind"] = k.apiVersion, k.kind
	content["metadata"] = map[string]any{
		"name": name, "namespace": namespace, "labels": map[string]any{"app.kubernetes.io/name": name, "team": "bench"},
	}
	return object{kind: k, namespace: namespace, name: name, body: content}
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
