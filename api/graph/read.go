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

// Graph is a decoded ResourceGraph: the names of its objects are known, its late
// references found and its expressions compiled. It is immutable, so any number of
// goroutines may use it.
type Graph struct {
	// Nodes are in the order of the ResourceGraph.
	Nodes []Node
	// Outputs are the late references in the graph's outputs. Their paths start with
	// the name of the output.
	Outputs []Late

	// source is the graph that was read. It is shared with the caller.
	source *v1alpha1.ResourceGraph
	// ids are the ids of the nodes, by node index.
	ids []string
	// index maps an id to the index of the first node that has it.
	index map[string]int
	// crds are the definitions in the graph, by the kind that they define.
	crds map[schema.GroupKind]crd
	// outputs are the problems of the outputs.
	outputs []Problem
	// edges are the edges by node, as [Graph.Edges] returns them.
	edges []Edge
	// needs are the edges as node indexes: node i depends on the nodes needs[i].
	needs [][]int
	// found are the late references in the outputs.
	found []foundOutput
	// budget are the limits that the graph exceeds. If there are any, no
	// expression is compiled.
	budget []Problem
}

// foundOutput is an output with its late references.
type foundOutput struct {
	name  string
	found reference.Found
}

// Node is one decoded node.
type Node struct {
	*v1alpha1.Node
	// Object identifies the node's object. The namespace of a namespaced kind
	// defaults to the graph's namespace, and that of a cluster-scoped kind is empty.
	// If the scope of the kind is unknown, the namespace is the one in the resource.
	Object v1alpha1.ObjectRef
	// References are the late references in the resource that compile. Their paths
	// start at the resource.
	References []Late
	// Generates are the $generate values in the resource.
	Generates []reference.Generate
	// Ready are the compiled expressions of the entries of ReadyWhen, with nil for
	// checks of other types and for expressions that do not compile.
	Ready []*reference.Expression

	// problems are the problems of the resource and its late references.
	problems []Problem
	// ready are the problems of the expressions of the entries of ReadyWhen.
	ready []problem.List
	// found are the late references in the resource, before they are compiled.
	found reference.Found
}

// Late is a late reference: the value at Path is the result of the expression over
// the live objects of other nodes.
type Late struct {
	Path reference.Path
	*reference.Expression
}

// GroupKind returns the kind of the node's object, without its version.
func (n *Node) GroupKind() schema.GroupKind {
	// A malformed apiVersion is reported by Problems; here it yields an empty group.
	gv, _ := schema.ParseGroupVersion(n.Object.APIVersion)
	return schema.GroupKind{Group: gv.Group, Kind: n.Object.Kind}
}

// Orphaned reports whether the node's object stays in the cluster when it leaves
// the graph. The deletion policy of the node takes precedence. Otherwise the object
// is orphaned if the policy of the graph is Orphan, or if its kind is orphaned by
// default; a graph with the policy Delete does not delete the latter.
func (n *Node) Orphaned(graph v1alpha1.DeletionPolicy) bool {
	if n.ApplyPolicy != nil && n.ApplyPolicy.DeletionPolicy != "" {
		return n.ApplyPolicy.DeletionPolicy == v1alpha1.DeletionOrphan
	}
	return graph == v1alpha1.DeletionOrphan || OrphanedByDefault(n.GroupKind())
}

// Read decodes a graph and compiles its expressions, unless there are too many. It
// never fails: [Graph.Problems] reports errors, and a graph with problems still has
// edges and, unless it has a cycle, waves. The caller must not change rg
// afterwards.
func Read(rg *v1alpha1.ResourceGraph) *Graph {
	g := ReadObjects(rg)
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.ExternalRef == nil {
			n.findReferences()
		}
	}
	g.findOutputs()
	if g.checkBudget() {
		g.compile()
	}
	g.buildEdges()
	return g
}

// ReadObjects decodes only the identities of a graph's objects. The result has no
// references, outputs and edges, and only some of the problems. It costs little,
// also for many graphs at once.
func ReadObjects(rg *v1alpha1.ResourceGraph) *Graph {
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
		g.Nodes[i].Node = &spec.Nodes[i]
		g.readNode(i)
	}
	// Namespaces need the definitions of all kinds.
	for i := range g.Nodes {
		g.completeNamespace(&g.Nodes[i])
	}
	return g
}

// readNode decodes the identity of the object of node i. It records problems in
// the node.
func (g *Graph) readNode(i int) {
	n := &g.Nodes[i]
	if ref := n.ExternalRef; ref != nil {
		n.Object = *ref
		g.checkExternalRef(n)
	} else if raw, err := rawJSON(n.Resource); err != nil {
		n.problem("resource", "is not JSON: "+err.Error(), "")
	} else if raw != nil {
		n.readResource(raw)
	}
	if isCRD(n.GroupKind()) {
		g.readCRD(i)
	}
}

// findOutputs finds the late references in the outputs, in the order of their
// names.
func (g *Graph) findOutputs() {
	for _, name := range slices.Sorted(maps.Keys(g.source.Spec.Graph.Outputs)) {
		output := g.source.Spec.Graph.Outputs[name]
		outputPath := reference.Path{"outputs", name}
		raw, err := rawJSON(&output)
		if err != nil {
			g.outputs = append(g.outputs, NewProblem("", outputPath.String(), "is not JSON: "+err.Error(), ""))
			continue
		}
		if !mayContainLate(raw) {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			g.outputs = append(g.outputs, NewProblem("", outputPath.String(), "is not JSON: "+err.Error(), ""))
			continue
		}
		g.found = append(g.found, foundOutput{name, reference.Find(v)})
	}
}
