package graph

import (
	"slices"

	"github.com/pequod-io/pequod/api/reference"
)

// LiteralSecretKeys returns the entries of a Secret's data and stringData that have
// literal values, such as stringData.password, sorted. Late references are not
// literal values. For objects of other kinds it returns nil.
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

// MayContainSecrets reports whether the field at a path of the node's resource may
// contain a value that is read from a Secret. Only data and stringData of a Secret
// may: in any other field the value would be visible in diffs and to everyone who
// can read the object.
func (n *Node) MayContainSecrets(path reference.Path) bool {
	return isSecret(n.GroupKind()) && len(path) > 0 && (path[0] == "data" || path[0] == "stringData")
}

// checkSecrets reports late references that read a value of a Secret into a field
// that must not contain it. It only finds reads that the expression spells out;
// evaluation refuses all others.
func (g *Graph) checkSecrets(n *Node, add addFunc) {
	for _, late := range n.References {
		if read := g.secretRead(late); read != "" && !n.MayContainSecrets(late.Path) {
			add(n.ID, append(reference.Path{"resource"}, late.Path...).String(), "reads "+read,
				"values of Secrets may only be read into data or stringData of a Secret")
		}
	}
}

// outputSecrets reports outputs that read a value of a Secret.
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

// secretRead describes the first value of a Secret that an expression reads, or
// returns "" if it reads none. The path config.data.password consists of the
// node, the field and the key, so a shorter one reads no value.
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
