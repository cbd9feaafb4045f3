package graph

import "strings"

// Problem is one thing that is wrong with a graph.
type Problem struct {
	// Node is the id of the node, or "" for what belongs to the graph.
	Node string
	// Path is where in the node, such as dependencies[1] or resource.spec.ip;
	// where Node is "" it begins at the graph, as in outputs.endpoint or, for a
	// node without id, nodes[3]; or at the object, as in spec.adopt.mode.
	Path    string
	Message string
	// Hint says how to mend it, where that is known.
	Hint string
}

// String gives the problem in one line: node, path, message, hint.
func (p Problem) String() string {
	var parts []string
	if p.Node != "" {
		parts = append(parts, "node "+p.Node)
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	line := strings.Join(append(parts, p.Message), ": ")
	if p.Hint != "" {
		line += " (" + p.Hint + ")"
	}
	return line
}
