package resolve

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// Lookup returns the live object of a node by the node's id, nil if the object
// doesn't exist. The resolver doesn't change the object.
type Lookup func(id string) map[string]any

// Resolver resolves the references of one graph. It remembers the values of
// expressions as long as the objects that they read don't change. It is not safe
// for concurrent use.
type Resolver struct {
	graph   *graph.Graph
	outputs map[string]any
	budget  budget
	// known are the values of expressions.
	known map[knownKey]known
	// unversioned is set by Unversioned.
	unversioned bool
}

// New returns the resolver of a valid graph. Expressions are compiled when they are
// first evaluated.
func New(g *graph.Graph) (*Resolver, error) {
	outputs, err := g.DecodeOutputs()
	if err != nil {
		return nil, err
	}
	return &Resolver{graph: g, outputs: outputs, known: map[knownKey]known{}, budget: budget{sizes: map[int]int{}}}, nil
}

// Reads returns the ids of the nodes that references read, including references in
// outputs. The resolver looks up no other objects.
func (r *Resolver) Reads() map[string]bool {
	reads := map[string]bool{}
	add := func(references []graph.Late) {
		for _, late := range references {
			for _, id := range late.Nodes() {
				reads[id] = true
			}
		}
	}
	for i := range r.graph.Nodes {
		add(r.graph.Nodes[i].References)
	}
	add(r.graph.Outputs)
	return reads
}

// position is where a reference stands, which decides what it may read.
type position struct {
	node    string         // id of the node, "" for outputs
	path    reference.Path // from the node or from the graph
	secrets bool           // whether values of Secrets are allowed
	refusal string         // the message if they aren't
}

// evaluate returns the value of a reference. The caller must not change it. The
// error is a *[WaitError], an *[EvalError], or one of the errors about budgets.
func (r *Resolver) evaluate(late graph.Late, at position, live Lookup) (any, error) {
	data := make(map[string]any, len(late.Nodes()))
	readsSecret, versions, unversioned := false, "", false
	for _, id := range late.Nodes() {
		object := live(id)
		if object == nil {
			versions += "absent "
			continue
		}
		is := version(object)
		versions, unversioned = versions+is+" ", unversioned || is == ""
		if graph.IsSecret(object) {
			var keys []graph.SecretKey
			if at.secrets {
				keys = graph.SecretKeys(late, id)
			}
			readsSecret = readsSecret || len(keys) > 0
			object = graph.SecretView(object, keys, "values of the Secret of node "+id+" "+at.refusal)
		}
		data[id] = withoutVolatile(object)
	}
	if unversioned {
		versions = ""
	} else {
		versions = "of " + versions // isn't empty if nothing is read
	}
	value, err := r.value(late.Expression, at, data, versions)
	var missing *reference.Missing
	switch {
	case err == nil && readsSecret && !isText(value):
		// A value that is left out, or a map with computed keys, would show by its
		// existence or its keys what the Secret has.
		return nil, evalError(late, at, "reads a Secret, so its value must be a string")
	case err == nil:
		return value, nil
	case errors.Is(err, ErrLater), errors.As(err, new(*BudgetError)):
		return nil, err
	case errors.As(err, &missing):
		message := missing.Error()
		if readsSecret {
			// The missing key may itself be the value of a Secret.
			message = "waits for what it reads of " + idList(late.Nodes())
		}
		return nil, &WaitError{
			Node: at.node, Path: at.path.String(), Expr: late.String(),
			Reads: slices.Clone(late.Nodes()), Message: message,
		}
	case readsSecret:
		return nil, evalError(late, at, "can't be evaluated; the cause isn't shown because it may quote a Secret")
	}
	return nil, evalError(late, at, err.Error())
}

// isText reports whether a value is a string.
func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// withoutVolatile returns a copy of an object without the metadata that changes
// with every write. Otherwise an expression that reads all metadata would have
// another value after every write of the object. The object isn't changed.
func withoutVolatile(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	for _, field := range reference.Volatile() {
		delete(metadata, field)
	}
	object["metadata"] = metadata
	return object
}

// evalError returns the error of a reference that can't be resolved.
func evalError(late graph.Late, at position, message string) *EvalError {
	return &EvalError{Node: at.node, Path: at.path.String(), Expr: late.String(), Message: message}
}

// idList returns node ids as a list in a sentence: a, b and c.
func idList(ids []string) string {
	text := ids[0]
	for i, id := range ids[1:] {
		if i == len(ids)-2 {
			text += " and " + id
		} else {
			text += ", " + id
		}
	}
	return text
}

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
