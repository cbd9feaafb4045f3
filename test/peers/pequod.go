package main

import (
	"context"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/server"
)

var pequodPeer = peer{
	name: "pequod apply",
	build: func(ctx context.Context, b *bench) (version string, err error) {
		b.pequod = b.scratch + "/pequod"
		if err := server.Programs(ctx, b.scratch, "-s -w", []string{"pequod"}, programFlags...); err != nil {
			return "", err
		}
		return commit(ctx)
	},
	begin: func(_ context.Context, t *trial) (contestant, error) {
		kubeconfig, err := t.kubeconfig(t.admin)
		env := []string{"KUBECONFIG=" + kubeconfig, "KUBECACHEDIR=" + t.file("cache"), "PEQUOD_CACHE_DIR=" + t.file("cache")}
		return &pequod{commands{program: t.pequod, env: env}, t.namespace, t.file("graph.yaml")}, err
	},
}

// programFlags are the flags of go build that a release has.
var programFlags = []string{"-trimpath", "-tags=kustomize_disable_go_plugin_support"}

// commit returns the commit of this checkout.
func commit(ctx context.Context) (string, error) {
	out, err := gitOutput(ctx, "describe", "--always", "--dirty")
	return out, err
}

// pequod applies a graph of independent nodes.
type pequod struct {
	commands
	namespace, file string
}

func (p *pequod) apply(ctx context.Context, objects []object) error {
	rg, err := newGraph(p.namespace, objects)
	if err != nil {
		return err
	}
	text, err := json.Marshal(rg)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.file, text, 0o600); err != nil {
		return err
	}
	return p.run(ctx, "apply", "-f", p.file)
}

// remove deletes in the background, as kubectl and Helm do.
func (p *pequod) remove(ctx context.Context) error {
	return p.run(ctx, "delete", "-f", p.file, "--cascade=background")
}

// graphName is the name of the graph of a trial.
const graphName = "bench"

// newGraph returns a graph with a node for each object.
func newGraph(namespace string, objects []object) (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ResourceGraph"))
	rg.Namespace, rg.Name = namespace, graphName
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "pequod.io/v1alpha1", Kind: "App", Name: graphName}
	rg.Spec.PlatformRef.Module = "example.com/app"
	for _, o := range objects {
		raw, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{ID: idOf(o), Resource: &runtime.RawExtension{Raw: raw}})
	}
	var err error
	rg.Spec.RenderHash, err = graph.RenderHash(rg.Spec.Graph)
	return rg, err
}
