package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// object is a Kubernetes object as JSON has it.
type object = map[string]any

// workload returns n objects: half of them are ConfigMaps, a quarter Services and a quarter
// Deployments of one Pod. value is in the first ConfigMap.
func workload(namespace string, n int, value string) []object {
	var objects []object
	for i := range n / 2 {
		data := object{"LOG_LEVEL": "info"}
		if i == 0 {
			data["LOG_LEVEL"] = value
		}
		objects = append(objects, newObject("v1", "ConfigMap", namespace, fmt.Sprintf("config-%d", i), object{"data": data}))
	}
	for i := range n / 4 {
		name := fmt.Sprintf("app-%d", i)
		objects = append(objects, newObject("v1", "Service", namespace, name, object{"spec": object{
			"selector": object{"app": name},
			"ports":    []any{object{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}},
		}}))
	}
	for i := range n - n/2 - n/4 {
		name := fmt.Sprintf("app-%d", i)
		container := object{
			"name": "web", "image": "registry.example.com/team/web:1.0",
			"ports":     []any{object{"name": "http", "containerPort": 8080, "protocol": "TCP"}},
			"env":       []any{object{"name": "LOG_LEVEL", "value": "info"}},
			"resources": object{"requests": object{"cpu": "10m", "memory": "16Mi"}},
		}
		objects = append(objects, newObject("apps/v1", "Deployment", namespace, name, object{"spec": object{
			"replicas": 1,
			"selector": object{"matchLabels": object{"app": name}},
			"template": object{"metadata": object{"labels": object{"app": name}}, "spec": object{"containers": []any{container}}},
		}}))
	}
	return objects
}

// spare is the index of the object that is removed, a ConfigMap.
const spare = 1

// without returns objects without the spare one.
func without(objects []object) []object {
	return slices.Delete(slices.Clone(objects), spare, spare+1)
}

func newObject(apiVersion, kind, namespace, name string, content object) object {
	content["apiVersion"], content["kind"] = apiVersion, kind
	content["metadata"] = object{"name": name, "namespace": namespace, "labels": object{"app.kubernetes.io/name": name}}
	return content
}

// nameOf returns metadata.name.
func nameOf(o object) string { return o["metadata"].(object)["name"].(string) }

// idOf returns an id such as "configmap7", in lower camel case that is unique among objects, as kro requires it.
func idOf(o object) string {
	_, number, _ := strings.Cut(nameOf(o), "-")
	return strings.ToLower(o["kind"].(string)) + number
}

// documents returns objects as a stream of YAML documents, each of them JSON.
func documents(objects ...object) (string, error) {
	var b strings.Builder
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "---\n%s\n", text)
	}
	return b.String(), nil
}
