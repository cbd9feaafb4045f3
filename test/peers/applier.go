package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/server"
)

var applierPeer = peer{
	name:  "pequod-applier",
	grace: true,
	build: func(ctx context.Context, b *bench) (string, error) {
		b.applier = b.scratch + "/pequod-applier"
		if err := server.Programs(ctx, b.scratch, "-s -w", []string{"pequod-applier"}, programFlags...); err != nil {
			return "", err
		}
		if err := b.createFiles(ctx, "config/crd/*_*.yaml"); err != nil {
			return "", err
		}
		return commit(ctx)
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
		cmd := exec.Command(t.applier, "--kubeconfig="+kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
		cmd.Env = append(os.Environ(), "PEQUOD_CACHE_DIR="+t.file("cache"))
		d, err := startDaemon(ctx, t, cmd, "http://"+probes+"/readyz")
		return &applier{controlled{d, t.client, v1alpha1.GroupVersion.WithResource("resourcegraphs"), t.namespace, graphName}}, err
	},
}

type applier struct{ controlled }

func (a *applier) apply(ctx context.Context, objects []object) error {
	rg, err := newGraph(a.namespace, objects)
	if err != nil {
		return err
	}
	return a.request(ctx, rg)
}

// controlled is a controller with the object that tells it what to do.
type controlled struct {
	*daemon
	client    dynamic.Interface
	kind      schema.GroupVersionResource
	namespace string
	name      string
}

// drifts marks a contestant that runs when nothing is asked of it.
func (c *controlled) drifts() {}

// requestedAt is the annotation that requests a reconciliation of Flux and of Pequod.
const requestedAt = v1alpha1.AnnotationFluxRequestedAt

// request writes the object, asks for its reconciliation now, and waits until the controller reports
// the object of this generation and this request as ready.
func (c *controlled) request(ctx context.Context, o any) error {
	content, err := toObject(o)
	if err != nil {
		return err
	}
	token := time.Now().Format(time.RFC3339Nano)
	if err := unstructured.SetNestedField(content, token, "metadata", "annotations", requestedAt); err != nil {
		return err
	}
	if err := c.write(ctx, content); err != nil {
		return err
	}
	return c.until(ctx, func(o *unstructured.Unstructured) bool {
		for _, field := range []string{"reconcileRequestedAt", "lastHandledReconcileAt"} {
			if handled, _, _ := unstructured.NestedString(o.Object, "status", field); handled == token {
				return isReady(o)
			}
		}
		return false
	})
}

// write applies the object.
func (c *controlled) write(ctx context.Context, content object) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = c.client.Resource(c.kind).Namespace(c.namespace).Patch(ctx, c.name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "peers", Force: new(true)})
	return err
}

// until waits until the object is as wanted.
func (c *controlled) until(ctx context.Context, wanted func(*unstructured.Unstructured) bool) error {
	var last *unstructured.Unstructured
	err := poll(ctx, func() (bool, error) {
		select {
		case <-c.Done():
			return false, fmt.Errorf("%s has ended\n%s", c.Name(), c.Log())
		default:
		}
		o, err := c.client.Resource(c.kind).Namespace(c.namespace).Get(ctx, c.name, metav1.GetOptions{})
		last = o
		return err == nil && wanted(o), err
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: %v\n%s", err, last.Object["status"], c.Log())
	}
	return err
}

// remove deletes the object, which has a finalizer of the controller.
func (c *controlled) remove(ctx context.Context) error {
	client := c.client.Resource(c.kind).Namespace(c.namespace)
	if err := client.Delete(ctx, c.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		list, err := client.List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, err
	})
}

// isReady reports whether the condition Ready is true for the current generation.
func isReady(o *unstructured.Unstructured) bool {
	if observed, found, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); found && observed != o.GetGeneration() {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		if observed, ok := c["observedGeneration"].(int64); ok && observed != o.GetGeneration() {
			continue
		}
		if c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

// toObject returns the JSON form of an API object, without its status.
func toObject(o any) (object, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	content := object{}
	err = json.Unmarshal(text, &content)
	delete(content, "status")
	return content, err
}
