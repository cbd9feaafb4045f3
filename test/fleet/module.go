package fleet

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The generated kinds are in the default group, whose instances an installed manager may watch.
const (
	group   = "pequod.io"
	version = "v1alpha1"
)

// module is the module of a platform. KIND, VALUE and FIELDS are replaced. An instance has a
// ConfigMap, perhaps another one that reads from it, and perhaps a Job. The Job does not depend
// on VALUE, because Jobs can't be changed.
const module = `
package app

#Platform: {group: "pequod.io", kind: "KIND"}
#Input: {
	value:  int
	extra?: bool
	job?:   int
	FIELDS
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: config: {
			resource: {
				apiVersion: "v1"
				kind:       "ConfigMap"
				metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
				data: {value: "\(input.spec.value)", module: "VALUE"}
			}
			applyPolicy: conflictPolicy: "Force"
		}
		if input.spec.extra != _|_ {
			nodes: extra: {
				resource: {
					apiVersion: "v1"
					kind:       "ConfigMap"
					metadata: {name: input.metadata.name + "-extra", namespace: input.metadata.namespace}
					data: {value: "\(input.spec.value)", module: "VALUE", read: "$from": "config.data.value"}
				}
				dependencies: ["config"]
				applyPolicy: conflictPolicy: "Force"
			}
		}
		if input.spec.job != _|_ {
			nodes: job: {
				resource: {
					apiVersion: "batch/v1"
					kind:       "Job"
					metadata: {name: "\(input.metadata.name)-\(input.spec.job)", namespace: input.metadata.namespace}
					spec: template: spec: {
						restartPolicy: "Never"
						containers: [{name: "main", image: "job:v1"}]
					}
				}
				dependencies: ["config"]
				// A Job counts as ready while it runs.
				readyWhen: [{type: "Expression", expr: "has(object.status.succeeded) && object.status.succeeded == 1"}]
			}
		}
		outputs: value: "$from": "config.data.value"
	}
}
`

// rights are the ways in which platforms get their rights: from samples in each namespace with
// instances, from samples in the whole cluster, and from a list.
var rights = []string{
	`{rbacScope: Namespace}`,
	`{rbacScope: Cluster}`,
	`{managedResources: [{apiGroup: "", resources: [configmaps]}, {apiGroup: batch, resources: [jobs]}, {apiGroup: "", resources: [pods, events], verbs: [list]}]}`,
}

// object returns the Transform of a platform.
func (p *platform) object(namespace string) (*unstructured.Unstructured, error) {
	fields := ""
	for i := range p.fields {
		fields += fmt.Sprintf("f%d?: int\n\t", i)
	}
	text := strings.NewReplacer("KIND", p.kind(), "VALUE", fmt.Sprint(p.value), "FIELDS", fields).Replace(module)
	spec, err := decode(p.rights)
	if err != nil {
		return nil, err
	}
	spec["cueRef"] = map[string]any{"type": "inline", "ref": text}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Transform",
		"metadata": map[string]any{"name": p.name, "namespace": namespace}, "spec": spec,
	}}, nil
}

// object returns an instance of a platform.
func (i *instance) object(p *platform) *unstructured.Unstructured {
	spec := map[string]any{"value": i.value}
	if i.extra {
		spec["extra"] = true
	}
	if i.job > 0 {
		spec["job"] = i.job
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + version, "kind": p.kind(), "metadata": map[string]any{"name": i.name}, "spec": spec,
	}}
}

// want returns the expected description of every object of an instance, by kind and name;
// describe returns the actual one.
func (i *instance) want(p *platform) map[string]string {
	text := fmt.Sprintf("value %d, module %d", i.value, p.value)
	want := map[string]string{"ConfigMap " + i.name: text}
	if i.extra {
		want["ConfigMap "+i.name+"-extra"] = fmt.Sprintf("%s, read %d", text, i.value)
	}
	if i.job > 0 {
		want["Job "+i.jobName()] = "complete"
	}
	return want
}

// describe returns the state of an object. Everything that is wrong with it adds to the text.
func describe(obj *unstructured.Unstructured) string {
	text := ""
	if obj.GetKind() == "Job" {
		text = "not complete"
		if n, _, _ := unstructured.NestedInt64(obj.Object, "status", "succeeded"); n == 1 {
			text = "complete"
		}
	} else {
		data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		text = "value " + data["value"] + ", module " + data["module"]
		if read, ok := data["read"]; ok {
			text += ", read " + read
		}
	}
	if obj.GetDeletionTimestamp() != nil {
		text += ", being deleted"
	}
	return text
}
