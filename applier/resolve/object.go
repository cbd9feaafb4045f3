package resolve

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// Object returns the object of node i with every reference replaced by its value.
// The caller owns the object. If an expression yields optional.none(), the field or
// list element is left out. Generated values are still {$generate}; see [Generate].
//
// The error is an *[EvalError] if any reference can't be resolved, a *[BudgetError]
// if the graph exceeds a limit, and [ErrLater] if this step has used up its time.
// Otherwise it is a *[WaitError] if any has to wait.
func (r *Resolver) Object(i int, live Lookup) (*unstructured.Unstructured, error) {
	n := &r.graph.Nodes[i]
	object, err := decode(n)
	if err != nil || len(n.References) == 0 {
		return object, err
	}
	values := make([]any, len(n.References))
	var wait *WaitError
	for k, late := range n.References {
		values[k], err = r.evaluate(late, positionInNode(n, late.Path), live)
		var w *WaitError
		switch {
		case err == nil:
		case !errors.As(err, &w):
			return nil, err
		case wait == nil:
			wait = w
		default:
			wait.Reads = union(wait.Reads, w.Reads)
		}
	}
	if wait != nil {
		return nil, wait
	}
	if err := r.reserve(i, values); err != nil {
		return nil, err
	}
	// Backward, so that leaving out a list element doesn't move the positions of
	// references that are still to be replaced.
	for k, late := range slices.Backward(n.References) {
		replace(object.Object, late.Path, ownCopy(values[k]))
	}
	return object, nil
}

// decode returns the object of a node with references and {$generate} in place.
// Errors name the node.
func decode(n *graph.Node) (*unstructured.Unstructured, error) {
	object, err := n.Decode()
	if err != nil {
		return nil, fmt.Errorf("node %s: resource: %w", n.ID, err)
	}
	if object == nil {
		return nil, fmt.Errorf("node %s: has no resource", n.ID)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// positionInNode returns the position of a reference in the resource of a node.
func positionInNode(n *graph.Node, path reference.Path) position {
	return position{
		node:    n.ID,
		path:    append(reference.Path{"resource"}, path...),
		secrets: n.MayContainSecrets(path),
		refusal: "may only be read into data or stringData of a Secret",
	}
}

// replace sets the value at a path below v and returns what has to replace v in its
// parent. The value [reference.Omitted] removes the field or list element.
func replace(v any, path reference.Path, value any) any {
	if len(path) == 0 {
		return value
	}
	_, omit := value.(reference.Omitted)
	omit = omit && len(path) == 1
	switch segment := path[0].(type) {
	case string:
		m, _ := v.(map[string]any)
		if omit {
			delete(m, segment)
		} else if m != nil {
			m[segment] = replace(m[segment], path[1:], value)
		}
	case int:
		l, _ := v.([]any)
		if segment >= len(l) {
			return v
		}
		if omit {
			return slices.Delete(l, segment, segment+1)
		}
		l[segment] = replace(l[segment], path[1:], value)
	}
	return v
}

// union returns a with the strings of b that it lacks, in order. It may modify a.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
