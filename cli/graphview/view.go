package graphview

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/review/layout"
)

// Formats are the formats of [Write]. The first is the default.
var Formats = []string{"tree", "mermaid", "dot", "svg", "html", "json"}

// Write prints graphs in one of the [Formats]. It writes everything at once, and
// nothing if a graph has a cycle of dependencies. Lines of a tree are wrapped to
// width; 0 means no limit.
func Write(w io.Writer, format string, width int, graphs ...*v1alpha1.ResourceGraph) error {
	views := make([]view, len(graphs))
	for i, rg := range graphs {
		v, err := newView(rg)
		if err != nil {
			return fmt.Errorf("graph %s: %w", rg.Name, err)
		}
		views[i] = v
	}
	var b strings.Builder
	switch format {
	case "json":
		// An array even for one graph or none, so that readers need only one form.
		return jsonvalue.Write(w, views)
	case "mermaid":
		writeMermaid(&b, views)
	case "dot":
		writeDOT(&b, views)
	case "svg":
		writeSVG(&b, views)
	case "html":
		return writeHTML(w, views)
	default:
		writeTree(&b, views, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// view is the part of a graph that the formats show. The json format prints its JSON
// form: fields may be added; none is renamed or removed.
type view struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Source is the instance that the graph was rendered from.
	Source v1alpha1.ObjectRef `json:"source"`
	// Waves lists the node ids of each wave, in apply order.
	Waves [][]string `json:"waves"`
	// Nodes are in the order of the graph. Edges has the dependencies of all
	// nodes.
	Nodes []node `json:"nodes"`
	Edges []edge `json:"edges"`

	byID map[string]int // indexes in Nodes
	// arrows are the edges that no others imply. All formats but JSON show only these.
	arrows []edge
	// tooLarge is set if a drawing would have too many steps.
	tooLarge bool
}

// instead is the next step if a graph is too large for a drawing.
const instead = "-o json has all nodes and dependencies."

// node is one node of a view.
type node struct {
	ID string `json:"id"`
	// Wave counts from 1.
	Wave       int    `json:"wave"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// External is set for nodes that are read and waited for, but never written.
	External bool `json:"external,omitempty"`
	// Mode is empty for the default, Apply.
	Mode v1alpha1.ApplyMode `json:"mode,omitempty"`
	// Ready describes the readiness checks. All of them must pass.
	Ready []string `json:"ready"`

	object string // its name, see [style.Object]
}

// edge is a dependency: Node waits for Needs. Path is the field of Node that refers
// to Needs, if there is one.
type edge struct {
	Node  string         `json:"node"`
	Needs string         `json:"needs"`
	Kind  graph.EdgeKind `json:"kind"`
	Path  string         `json:"path,omitempty"`
}

// newView returns the view of a graph, or an error if its dependencies form a
// cycle. The view has the waves in which the applier applies the nodes: a node is
// in the first wave after those of its dependencies.
func newView(rg *v1alpha1.ResourceGraph) (view, error) {
	g := graph.Read(rg)
	waves, err := g.Waves()
	if err != nil {
		return view{}, err
	}
	v := view{
		Name: rg.Name, Namespace: rg.Namespace, Source: rg.Spec.SourceRef,
		Waves: waves, Nodes: []node{}, Edges: []edge{}, byID: map[string]int{},
	}
	for i := range g.Nodes {
		v.byID[g.Nodes[i].ID] = i
		v.Nodes = append(v.Nodes, newNode(&g.Nodes[i], rg.Namespace))
	}
	for i, wave := range waves {
		for _, id := range wave {
			v.Nodes[v.byID[id]].Wave = i + 1
		}
	}
	edges := g.Edges()
	v.Edges = slices.Grow(v.Edges, len(edges))
	for _, e := range edges {
		v.Edges = append(v.Edges, edge(e))
	}
	arrows, steps := layout.Reduce(len(v.Nodes), v.Edges, func(e edge) layout.Edge {
		return layout.Edge{From: v.byID[e.Needs], To: v.byID[e.Node]}
	})
	v.arrows, v.tooLarge = arrows, steps > layout.MaxSteps
	return v, nil
}

// newNode returns the view of a node. Its wave is set later. namespace is that of
// the graph.
func newNode(n *graph.Node, namespace string) node {
	shown := node{
		ID: n.ID, APIVersion: n.Object.APIVersion, Kind: n.Object.Kind, Namespace: n.Object.Namespace, Name: n.Object.Name,
		External: n.ExternalRef != nil,
		object:   style.Object(n.Object.Kind, n.Object.Name, n.Object.Namespace, namespace),
	}
	if n.ApplyPolicy != nil && n.ApplyPolicy.Mode != v1alpha1.ApplyModeApply {
		shown.Mode = n.ApplyPolicy.Mode
	}
	for _, check := range n.ReadyWhen {
		shown.Ready = append(shown.Ready, readyText(check))
	}
	if len(shown.Ready) == 0 {
		shown.Ready = []string{"kstatus"} // the check that the applier uses by default
	}
	return shown
}

// readyText describes one readiness check. Only a check of a condition has more
// than a type. Its status is True by default, as for the applier.
func readyText(check v1alpha1.ReadyCheck) string {
	if check.Type != v1alpha1.ReadyConditionMatch {
		return string(check.Type)
	}
	status := check.ConditionStatus
	if status == "" {
		status = "True"
	}
	return fmt.Sprintf("%s %s=%s", check.Type, check.ConditionType, status)
}

// title returns the name of the graph and of the instance that it was rendered from.
func (v view) title() string {
	source := v.Source.Name
	if v.Source.Namespace != "" {
		source = v.Source.Namespace + "/" + source
	}
	return fmt.Sprintf("%s (%s %s)", v.Name, v.Source.Kind, source)
}

// label returns the lines that describe a node: its id, its object and its
// traits. The tree prints them on one line; Mermaid and DOT put them into one
// box.
func (n node) label() []string { return append([]string{n.ID, n.object}, n.traits()...) }

// traits describes how a node is checked and applied: "ready: kstatus", "mode:
// Create", "external". The mode is left out if it is the default.
func (n node) traits() []string {
	traits := []string{"ready: " + strings.Join(n.Ready, ", ")}
	if n.Mode != "" {
		traits = append(traits, "mode: "+string(n.Mode))
	}
	if n.External {
		traits = append(traits, "external")
	}
	return traits
}
