package graph

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// Decode returns the node's resource as written in the graph, with unresolved
// late references. It returns nil for a node with an externalRef. Every call
// returns a new copy that the caller owns. Whole numbers are int64 and other
// numbers float64, as in Kubernetes' unstructured objects.
func (n *Node) Decode() (map[string]any, error) {
	raw, err := rawJSON(n.Resource)
	if err != nil || raw == nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// DecodeOutputs returns the graph's outputs by name, with unresolved late references.
// The caller owns the result.
func (g *Graph) DecodeOutputs() (map[string]any, error) {
	outputs := make(map[string]any, len(g.source.Spec.Graph.Outputs))
	for name, output := range g.source.Spec.Graph.Outputs {
		raw, err := rawJSON(&output)
		if err != nil {
			return nil, fmt.Errorf("outputs.%s: %w", name, err)
		}
		var v any
		if raw != nil {
			if err := json.Unmarshal(raw, &v); err != nil {
				return nil, fmt.Errorf("outputs.%s: %w", name, err)
			}
		}
		outputs[name] = v
	}
	return outputs, nil
}
