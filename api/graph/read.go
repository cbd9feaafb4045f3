package graph

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Graph is a ResourceGraph that was read: its objects are named, its late
// references found and its expressions compiled. It isn't changed after Read,
// and any number of goroutines may use it.
type Graph struct {
	// Nodes are in the order of the ResourceGraph.
	Nodes []Node
	// Outputs are the late references among the graph's outputs; their paths
	// begin with the name of the output.
	Outputs []Late

	source  *v1alpha1.ResourceGraph
	ids     []string
	index   map[string]int // of the first node with an id
	crds    map[schema.GroupKind]crd
	outputs []Problem
	edges   []Edge
	needs   [][]int // by node: the nodes it waits for, as indexes
}

// Node is one node with what its resource says about it.
type Node struct {
	*v1alpha1.Node
	// Object names the node's object. Its namespace is completed by the
	// graph's for kinds that are known to be namespaced, and empty for kinds
	// that are known not to be; for other kinds it is what the author wrote.
	Object v1alpha1.ObjectRef
	// References are the late references of the resource that compile; their
	// paths begin at the resource.
	References []Late
	// Generates are the values that are made in the cluster.
	Generates []reference.Generate
	// Ready holds the compiled expression of each entry of ReadyWhen, nil
	// where the check is of another type.
	Ready []*reference.Expression

	problems []Problem      // of the resource and its references
	ready    []problem.List // of the expression of each entry of ReadyWhen
}

// Late is a value that an expression yields over other nodes.
type Late struct {
	Path reference.Path
	*reference.Expression
}

// GroupKind returns the kind of the node's object, without its version.
func (n *Node) GroupKind() schema.GroupKind {
	// A malformed apiVersion is a problem of its own; here it names no group.
	gv, _ := schema.ParseGroupVersion(n.Object.APIVersion)
	return schema.GroupKind{Group: gv.Group, Kind: n.Object.Kind}
}

// Orphaned says whether the node's object stays when its graph no longer lists
// it: the node's own policy counts most, then what is known of the kind, then
// the policy of the graph. A graph that orphans, orphans everything, but one
// that deletes doesn't delete volumes, Namespaces and definitions by that.
func (n *Node) Orphaned(graph v1alpha1.DeletionPolicy) bool {
	if n.ApplyPolicy != nil && n.ApplyPolicy.DeletionPolicy != "" {
		return n.ApplyPolicy.DeletionPolicy == v1alpha1.DeletionOrphan
	}
	return graph == v1alpha1.DeletionOrphan || OrphanedByDefault(n.GroupKind())
}

// Read decodes a graph and compiles its expressions. It never fails: what is
// wrong is told by [Graph.Problems], and a graph that has problems still has
// edges and, unless there is a cycle, waves.
func Read(rg *v1alpha1.ResourceGraph) *Graph {
	spec := &rg.Spec.Graph
	g := &Graph{
		Nodes:  make([]Node, len(spec.Nodes)),
		source: rg,
		ids:    make([]string, len(spec.Nodes)),
		index:  make(map[string]int, len(spec.Nodes)),
		crds:   map[schema.GroupKind]crd{},
	}
	for i := range spec.Nodes {
		id := spec.Nodes[i].ID
		g.ids[i] = id
		if _, taken := g.index[id]; !taken {
			g.index[id] = i
		}
	}
	scope := reference.NewScope(g.ids)
	for i := range spec.Nodes {
		g.Nodes[i].Node = &spec.Nodes[i]
		g.readNode(i, scope)
	}
	for i := range g.Nodes {
		g.completeNamespace(&g.Nodes[i])
	}
	g.readOutputs(scope)
	g.link()
	return g
}

func (g *Graph) readNode(i int, scope *reference.Scope) {
	n := &g.Nodes[i]
	if ref := n.ExternalRef; ref != nil {
		n.Object = *ref
		n.checkExternalRef()
	} else if raw, err := rawJSON(n.Resource); err != nil {
		n.problem("resource", "is not JSON: "+err.Error(), "")
	} else if raw != nil {
		n.readResource(raw, scope)
	}
	if isCRD(n.GroupKind()) {
		g.readCRD(i)
	}
	n.Ready = make([]*reference.Expression, len(n.ReadyWhen))
	n.ready = make([]problem.List, len(n.ReadyWhen))
	for k, check := range n.ReadyWhen {
		if check.Type == v1alpha1.ReadyExpression && check.Expr != "" {
			n.Ready[k], n.ready[k] = reference.CompileReady(check.Expr)
		}
	}
}

func (g *Graph) readOutputs(scope *reference.Scope) {
	for _, name := range slices.Sorted(maps.Keys(g.source.Spec.Graph.Outputs)) {
		output := g.source.Spec.Graph.Outputs[name]
		at := reference.Path{"outputs", name}
		raw, err := rawJSON(&output)
		if err != nil {
			g.outputs = append(g.outputs, NewProblem("", at.String(), "is not JSON: "+err.Error(), ""))
			continue
		}
		if !mayHoldLate(raw) {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			g.outputs = append(g.outputs, NewProblem("", at.String(), "is not JSON: "+err.Error(), ""))
			continue
		}
		found := reference.Find(v)
		references, problems := compile(found, at, scope)
		for i := range references {
			references[i].Path = append(reference.Path{name}, references[i].Path...)
		}
		for _, generate := range found.Generate {
			problems = append(problems, NewProblem("", append(slices.Clone(at), generate.Path...).String(),
				"$generate is not allowed here", generateHint))
		}
		g.Outputs = append(g.Outputs, references...)
		g.outputs = append(g.outputs, problems...)
	}
}

// compile compiles what was found below a path. Problems are without a node.
func compile(found reference.Found, at reference.Path, scope *reference.Scope) ([]Late, []Problem) {
	var references []Late
	var problems []Problem
	for _, m := range found.Malformed {
		path := append(slices.Clone(at), m.Path...).String()
		problems = append(problems, NewProblem("", path, m.Message, m.Hint))
	}
	for _, from := range found.From {
		expr, issues := scope.Compile(from.Expr)
		for _, issue := range issues {
			path := append(slices.Clone(at), from.Path...).String()
			problems = append(problems, NewProblem("", path, issue.Message, issue.Hint))
		}
		if expr != nil {
			references = append(references, Late{Path: from.Path, Expression: expr})
		}
	}
	return references, problems
}
