package main

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var kroPeer = peer{
	name: "kro",
	build: func(ctx context.Context, b *bench) (version string, err error) {
		const dir, module = "test/peers/kro", "github.com/kubernetes-sigs/kro"
		if b.kro, version, err = goTool(ctx, "kro", dir, module+"/cmd/controller", module); err != nil {
			return "", err
		}
		files, err := moduleDir(ctx, dir, module)
		if err != nil {
			return "", err
		}
		return version, b.createFiles(ctx, files+"/helm/crds/*.yaml")
	},
	begin: func(ctx context.Context, t *trial) (contestant, error) {
		kubeconfig, err := t.kubeconfig(t.admin)
		if err != nil {
			return nil, err
		}
		probes, err := freeAddress()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(t.kro, "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		d, err := startDaemon(ctx, t, cmd, "http://"+probes+"/readyz")
		k := &kro{
			controlled:  controlled{d, t.client, schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "benches"}, t.namespace, "bench"},
			definitions: controlled{d, t.client, schema.GroupVersionResource{Group: "kro.run", Version: "v1alpha1", Resource: "resourcegraphdefinitions"}, "", "bench"},
		}
		if err != nil {
			return k, err
		}
		// Whoever maintains a platform defines its kinds before they are used.
		return k, k.define(ctx, workload(t.namespace, t.objects, "info"))
	},
}

// kro executes one instance of a kind whose definition has all objects.
type kro struct {
	controlled
	definitions controlled
	count       int // of objects in the definition
	value       string
}

// define writes the definition and waits until it is active. The value of the first ConfigMap is a
// field of the instance.
func (k *kro) define(ctx context.Context, objects []object) error {
	k.count = len(objects)
	var resources []any
	for i, o := range objects {
		if i == 0 {
			o["data"] = object{"LOG_LEVEL": "${schema.spec.level}"}
		}
		resource := object{"id": idOf(o), "template": o}
		if o["kind"] == "Deployment" {
			resource["readyWhen"] = []any{"${" + idOf(o) + ".status.availableReplicas == 1}"}
		}
		resources = append(resources, resource)
	}
	if err := k.definitions.write(ctx, object{
		"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": object{"name": "bench"},
		"spec": object{
			"schema":    object{"apiVersion": "v1alpha1", "kind": "Bench", "spec": object{"level": "string"}},
			"resources": resources,
		},
	}); err != nil {
		return err
	}
	return k.definitions.until(ctx, isReady)
}

// apply changes the instance if the value differs, and the definition if the number of objects does.
// A reconciliation without a change can't be requested.
func (k *kro) apply(ctx context.Context, objects []object) error {
	value := objects[0]["data"].(object)["LOG_LEVEL"].(string)
	switch {
	case len(objects) != k.count:
		return k.define(ctx, objects)
	case value == k.value:
		return errors.ErrUnsupported
	}
	k.value = value
	if err := k.write(ctx, object{
		"apiVersion": "kro.run/v1alpha1", "kind": "Bench", "metadata": object{"name": "bench"}, "spec": object{"level": value},
	}); err != nil {
		return err
	}
	return k.until(ctx, isReady)
}

// close deletes the definition, so that the next run begins with none.
func (k *kro) close(ctx context.Context) error {
	return errors.Join(k.definitions.remove(ctx), k.daemon.close(ctx))
}
