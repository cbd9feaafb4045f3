package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Plain returns the objects of a graph in apply order, or the problems that
// keep it from being plain manifests.
func Plain(rg *v1alpha1.ResourceGraph, tool Tool) ([]*unstructured.Unstructured, []graph.Problem) {
	switch tool {
	case AnyTool, ArgoCD, Flux:
	default:
		return nil, []graph.Problem{graph.NewProblem("", "", fmt.Sprintf("no annotations are known for %q", tool), "one of argocd, flux")}
	}
	p := &plain{graph: graph.Read(rg), tool: tool, deletion: rg.Spec.DeletionPolicy}
	if problems := p.graph.Problems(); len(problems) > 0 {
		return nil, problems
	}
	// Refuse everything first, so that the user sees all reasons at once.
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

// objects returns the annotated objects in apply order.
func (p *plain) objects() []*unstructured.Unstructured {
	waves, err := p.graph.Waves()
	if err != nil { // unreachable: Problems reported it
		p.problems = append(p.problems, graph.NewProblem("", "", err.Error(), ""))
		return nil
	}
	nodes := make(map[string]*graph.Node, len(p.graph.Nodes))
	for i := range p.graph.Nodes {
		nodes[p.graph.Nodes[i].ID] = &p.graph.Nodes[i]
	}
	needs := map[string][]string{}
	// Tools that read the annotation order implied dependencies themselves.
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
			setNamespace(u, n)
			p.dependsOn(u, n, needs[id])
			p.annotate(u, n, wave, syncWaves)
			objects = append(objects, u)
		}
	}
	p.checkSyncWaves(nodes, syncWaves)
	return objects
}

// decode returns the resource of a node.
func decode(n *graph.Node) (*unstructured.Unstructured, error) {
	raw, err := n.Resource.MarshalJSON()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, json.Unmarshal(raw, &u.Object)
}

// setNamespace sets the namespace that the applier would use. A manifest
// without one would get the namespace of the user's kubeconfig. On a
// cluster-scoped object a namespace is removed, as the API server does.
func setNamespace(u *unstructured.Unstructured, n *graph.Node) {
	if n.Object.Namespace != u.GetNamespace() {
		u.SetNamespace(n.Object.Namespace)
	}
}
