package graph

import (
	"slices"

	"github.com/pequod-io/pequod/api/reference"
)

// LiteralSecretKeys lists the entries of a Secret's data and stringData whose
// values are written out, such as stringData.password, sorted. Values that are
// made or read in the cluster don't count. For any other object it is empty.
func LiteralSecretKeys(object map[string]any) []string {
	if !IsSecret(object) {
		return nil
	}
	var keys []string
	for _, field := range []string{"data", "stringData"} {
		if isLate(object[field]) {
			continue
		}
		m, ok := object[field].(map[string]any)
		if !ok {
			if object[field] != nil {
				keys = append(keys, field)
			}
			continue
		}
		for key, value := range m {
			if !isLate(value) && value != nil {
				keys = append(keys, field+"."+key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// MayHoldSecrets says whether what stands at a path of the node's resource may
// be read from a Secret: only data and stringData of a Secret may. Anywhere else
// the value would be in diffs, and with everyone who may read the object.
func (n *Node) MayHoldSecrets(path reference.Path) bool {
	return isSecret(n.GroupKind()) && len(path) > 0 && (path[0] == "data" || path[0] == "stringData")
}

// checkSecrets tells values of Secrets that are read to where they may not
// stand, as far as expressions write out what they read. The rest is refused
// when they run.
func (g *Graph) checkSecrets(n *Node, add addFunc) {
	for _, late := range n.References {
		if read := g.secretRead(late); read != "" && !n.MayHoldSecrets(late.Path) {
			add(n.ID, append(reference.Path{"resource"}, late.Path...).String(), "reads "+read,
				"values of Secrets may only be read into data or stringData of a Secret")
		}
	}
}

// outputSecrets does the same for the outputs.
func (g *Graph) outputSecrets() []Problem {
	var problems []Problem
	for _, late := range g.Outputs {
		if read := g.secretRead(late); read != "" {
			problems = append(problems, NewProblem("", append(reference.Path{"outputs"}, late.Path...).String(),
				"reads "+read, "values of Secrets never go into outputs"))
		}
	}
	return problems
}

// secretRead names the first value of a Secret that an expression reads.
func (g *Graph) secretRead(late Late) string {
	for _, path := range late.Selects() {
		id, _ := path[0].(string)
		i, ok := g.index[id]
		if ok && isSecret(g.Nodes[i].GroupKind()) && len(path) > 2 && (path[1] == "data" || path[1] == "stringData") {
			return path[1:].String() + " of the Secret " + id
		}
	}
	return ""
}
