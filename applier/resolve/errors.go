package resolve

import "strings"

// WaitError says that a reference reads what isn't there yet.
type WaitError struct {
	// Node is the id of the node that holds the reference, "" for outputs.
	Node string
	// Path is where it stands: resource.spec.ip, or outputs.endpoint.
	Path string
	Expr string
	// Reads are the ids of the nodes on which it depends whether the wait ends:
	// those that all the waiting references of the node read.
	Reads []string
	// Message says what isn't there: waits for service.status.loadBalancer.
	Message string
}

func (e *WaitError) Error() string { return line(e.Node, e.Path, e.Message, "") }

// EvalError says that a reference can't be resolved, and won't be as long as
// the graph and the objects it reads stay what they are.
type EvalError struct {
	// Node is the id of the node that holds the reference, "" for outputs.
	Node string
	// Path is where it stands: resource.spec.ip, or outputs.endpoint.
	Path    string
	Expr    string
	Message string
}

func (e *EvalError) Error() string { return line(e.Node, e.Path, e.Message, e.Expr) }

func line(node, path, message, expr string) string {
	text := path + ": " + message
	if node != "" {
		text = "node " + node + ": " + text
	}
	if expr != "" {
		text += " (in " + strings.Join(strings.Fields(expr), " ") + ")"
	}
	return text
}
