package manifests

import (
	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Tool is the tool that will apply the manifests.
type Tool string

// The tools with annotations of their own. AnyTool stands for all others:
// tools that read config.kubernetes.io/depends-on, and those that apply a file
// from top to bottom.
const (
	AnyTool Tool = ""
	ArgoCD  Tool = "argocd"
	Flux    Tool = "flux"
)

// plain is the conversion of one graph.
type plain struct {
	graph *graph.Graph
	tool  Tool
	// deletion is the graph's deletion policy, which nodes may override.
	deletion v1alpha1.DeletionPolicy
	problems []graph.Problem
}

// problem reports that a node can't be expressed. path is relative to the node.
func (p *plain) problem(n *graph.Node, path, message, hint string) {
	p.problems = append(p.problems, graph.NewProblem(n.ID, path, message, hint))
}
