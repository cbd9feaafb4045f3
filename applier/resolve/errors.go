package resolve

import "strings"

// WaitError is returned for a reference that reads something that doesn't exist
// yet. It passes when the live objects change.
type WaitError struct {
	// Node is the id of the node that has the reference, "" for outputs.
	Node string
	// Path is the position of the reference: resource.spec.ip or outputs.endpoint.
	Path string
	// Expr is the expression of the reference.
	Expr string
	// Reads are the ids of the nodes that end the wait: the nodes that all waiting
	// references of the node read.
	Reads []string
	// Message names the missing value: waits for service.status.loadBalancer.
	Message string
}

func (e *WaitError) Error() string { return errorLine(e.Node, e.Path, e.Message, "") }

// EvalError is returned for a reference that can't be resolved. The error stays
// until the graph or the objects that the reference reads are changed.
type EvalError struct {
	// Node is the id of the node that has the reference, "" for outputs.
	Node string
	// Path is the position of the reference: resource.spec.ip or outputs.endpoint.
	Path string
	// Expr is the expression of the reference.
	Expr string
	// Message is the reason why the expression can't be evaluated.
	Message string
}

func (e *EvalError) Error() string { return errorLine(e.Node, e.Path, e.Message, e.Expr) }

// errorLine returns an error in one line. node and expr may be empty.
func errorLine(node, path, message, expr string) string {
	text := path + ": " + message
	if node != "" {
		text = "node " + node + ": " + text
	}
	if expr != "" {
		text += " (in " + strings.Join(strings.Fields(expr), " ") + ")"
	}
	return text
}
