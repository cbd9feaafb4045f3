package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Tool is what is going to apply the manifests.
type Tool string

// The tools that want annotations of their own. AnyTool stands for all that
// read config.kubernetes.io/depends-on, and for those that read no annotation
// and apply a file from top to bottom.
const (
	AnyTool Tool = ""
	ArgoCD  Tool = "argocd"
	Flux    Tool = "flux"
)

// Options of [Plain].
type Options struct {
	Annotate Tool
}

// Plain returns the objects of a graph in apply order, or everything that
// keeps it from being plain manifests.
func Plain(rg *v1alpha1.ResourceGraph, opts Options) ([]*unstructured.Unstructured, []graph.Problem) {
	switch opts.Annotate {
	case AnyTool, ArgoCD, Flux:
	default:
		return nil, []graph.Problem{graph.NewProblem("", "", fmt.Sprintf("no annotations are known for %q", opts.Annotate), "one of argocd, flux")}
	}
	p := &plain{graph: graph.Read(rg), tool: opts.Annotate, deletion: rg.Spec.DeletionPolicy}
	if problems := p.graph.Problems(); len(problems) > 0 {
		return nil, problems
	}
	for i := range p.graph.Nodes {
		p.refuse(&p.graph.Nodes[i])
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	objects := p.objects()
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return objects, nil
}

type plain struct {
	graph    *graph.Graph
	tool     Tool
	deletion v1alpha1.DeletionPolicy
	problems []graph.Problem
}

func (p *plain) problem(n *graph.Node, path, message, hint string) {
	p.problems = append(p.problems, graph.NewProblem(n.ID, path, message, hint))
}

func (p *plain) objects() []*unstructured.Unstructured {
	waves, err := p.graph.Waves()
	if err != nil { // Problems told it already
		p.problems = append(p.problems, graph.NewProblem("", "", err.Error(), ""))
		return nil
	}
	nodes := make(map[string]*graph.Node, len(p.graph.Nodes))
	for i := range p.graph.Nodes {
		nodes[p.graph.Nodes[i].ID] = &p.graph.Nodes[i]
	}
	needs := map[string][]string{}
	for _, e := range p.graph.Edges() {
		if e.Kind != graph.Implied {
			needs[e.Node] = append(needs[e.Node], dependsOnText(nodes[e.Needs]))
		}
	}
	var objects []*unstructured.Unstructured
	syncWaves := map[string]int{}
	for wave, ids := range waves {
		for _, id := range ids {
			n := nodes[id]
			u, err := decode(n)
			if err != nil {
				p.problem(n, "resource", err.Error(), "")
				continue
			}
			placeObject(u, n)
			p.dependsOn(u, n, needs[id])
			p.annotate(u, n, wave, syncWaves)
			objects = append(objects, u)
		}
	}
	p.checkSyncWaves(nodes, syncWaves)
	return objects
}

func decode(n *graph.Node) (*unstructured.Unstructured, error) {
	raw, err := n.Resource.MarshalJSON()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, json.Unmarshal(raw, &u.Object)
}

// placeObject gives the object the namespace that the graph's applier would:
// whoever applies a manifest without one takes it from their kubeconfig. One
// that is set on a cluster-scoped object goes, as it does on the server.
func placeObject(u *unstructured.Unstructured, n *graph.Node) {
	if n.Object.Namespace != u.GetNamespace() {
		u.SetNamespace(n.Object.Namespace)
	}
}
