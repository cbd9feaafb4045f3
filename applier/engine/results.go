package engine

import "slices"

// Statuses returns the statuses of all nodes, in the order of the graph, followed
// by those of objects that left the graph, in the order of their removal.
func (e *Engine) Statuses() []Status {
	all := make([]Status, 0, len(e.nodes.all))
	for _, n := range e.nodes.all {
		all = append(all, n.status)
	}
	for r := range e.removals.visible {
		all = append(all, r.status)
	}
	return all
}

// Unfinished reports, in [ModeStatus], whether another run applied objects and
// hasn't recorded them yet: it is active or was interrupted.
func (e *Engine) Unfinished() bool {
	return slices.ContainsFunc(e.nodes.all, func(n *node) bool { return n.unrecorded })
}

// Dependencies returns, by node id, the ids of the nodes that each node depends on.
func (e *Engine) Dependencies() map[string][]string {
	needs := make(map[string][]string, len(e.nodes.all))
	for _, n := range e.nodes.all {
		for _, m := range n.needs {
			needs[n.ID] = append(needs[n.ID], m.ID)
		}
	}
	return needs
}

// Outputs evaluates the outputs of the graph with the known objects. An output
// that can't be evaluated yet has an error instead of a value.
func (e *Engine) Outputs() (map[string]any, map[string]error) {
	if e.resolver == nil {
		return nil, nil
	}
	return e.resolver.Outputs(e.live)
}
