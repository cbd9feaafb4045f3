package graph

import (
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Problem is one thing that is wrong with a graph.
//
// The embedded Problem has the message, the hint, the rule and the path from
// the graph, as [NodePath] formats it. It has no position, because this package
// does not know the file that the graph was read from; [Problem.At] adds it.
type Problem struct {
	problem.Problem
	// Node is the id of the node, or "" if the problem is not in a node.
	Node string
	// Field is the path within the node, such as dependencies[1] or
	// resource.spec.ip. If Node is "", it starts at the graph, as in
	// outputs.endpoint or, for a node without an id, nodes[3]; or it starts at
	// the ResourceGraph, as in spec.adopt.mode.
	Field string
}

// NewProblem returns a problem of severity Error. node and field may be empty.
// The message usually continues the path, as in "is missing", and the hint
// suggests a correction.
func NewProblem(node, field, message, hint string) Problem {
	return Problem{Node: node, Field: field, Problem: problem.Problem{
		Path: NodePath(node, field), Message: message, Hint: hint, Rule: problem.RuleGraph,
	}}
}

// ViolationProblem returns the problem of a violation that a policy reported,
// without a position. Info is a Note.
func ViolationProblem(v v1alpha1.Violation) problem.Problem {
	p := problem.Problem{Path: NodePath(v.Node, v.Path), Rule: problem.RulePolicy, Message: v.Message}
	switch v.Severity {
	case v1alpha1.SeverityWarning:
		p.Severity = problem.Warning
	case v1alpha1.SeverityInfo:
		p.Severity = problem.Note
	case v1alpha1.SeverityError: // the zero value of Severity is Error
	}
	return p
}

// At returns the problem at a position, without the node and field.
func (p Problem) At(position problem.Position) problem.Problem {
	p.Position = position
	return p.Problem
}

// String formats the problem as one line, for messages about a graph without a
// file: [node NODE: ][FIELD: ]MESSAGE[ (HINT)].
func (p Problem) String() string {
	var parts []string
	if p.Node != "" {
		parts = append(parts, "node "+p.Node)
	}
	if p.Field != "" {
		parts = append(parts, p.Field)
	}
	line := strings.Join(append(parts, p.Message), ": ")
	if p.Hint != "" {
		line += " (" + p.Hint + ")"
	}
	return line
}

// NodePath returns the path of a field of a node from the graph:
// nodes.web.resource.spec, or nodes["a.b"].resource for an id that would be
// misread. If node is "", it returns field.
func NodePath(node, field string) string {
	if node == "" {
		return field
	}
	return fieldpath.Concat(fieldpath.Join("nodes", node), field)
}
