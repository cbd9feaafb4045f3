package graph

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// Decode returns the node's resource as its author wrote it, late references
// included; nil for a node that only refers to an object. Each call decodes
// anew, so that the result is the caller's to change.
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

// DecodeOutputs returns the outputs by name, late references included.
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
