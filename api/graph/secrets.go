package graph

import (
	"fmt"
	"maps"
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
// contain a value that is read from a Secret. Only a single key in data or stringData
// of a Secret may. In any other field the value would be visible in diffs and to
// everyone who can read the object. In data as a whole it could become a key, which
// errors quote.
func (n *Node) MayContainSecrets(path reference.Path) bool {
	return isSecret(n.GroupKind()) && len(path) == 2 && isSecretField(path[0])
}

// isSecretField reports whether a field of a Secret has its values.
func isSecretField(field any) bool { return field == "data" || field == "stringData" }

// SecretKey is a key of a Secret that an expression reads.
type SecretKey struct{ Field, Key string }

// SecretKeys returns the keys of the Secret of a node that a reference reads, as far
// as the expression spells them out. It may read no others.
func SecretKeys(late Late, id string) []SecretKey {
	var keys []SecretKey
	for _, path := range late.Selects() {
		if len(path) < 3 || path[0] != id || !isSecretField(path[1]) {
			continue
		}
		if key, ok := path[2].(string); ok {
			keys = append(keys, SecretKey{path[1].(string), key})
		}
	}
	return keys
}

// Hints of problems with Secrets.
const (
	secretTargetHint = "values of Secrets may only be read into data or stringData of a Secret"
	secretKeyHint    = "of a Secret, only single keys can be read, as in ID.data.KEY, and only into single keys of a Secret"
)

// checkSecrets reports late references that read a value of a Secret into a field
// that must not contain it, or that read more than single values. It only finds
// reads that the expression spells out; evaluation refuses all others.
func (g *Graph) checkSecrets(n *Node, add addFunc) {
	for _, late := range n.References {
		path := append(reference.Path{"resource"}, late.Path...).String()
		switch read, single := g.secretRead(late); {
		case read == "":
		case !single, isSecret(n.GroupKind()) && len(late.Path) == 1:
			add(n.ID, path, "reads "+read, secretKeyHint)
		case !n.MayContainSecrets(late.Path):
			add(n.ID, path, "reads "+read, secretTargetHint)
		}
	}
	if !isSecret(n.GroupKind()) {
		return
	}
	for k, expr := range n.Ready {
		if expr == nil {
			continue
		}
		for _, path := range expr.Selects() {
			if isSecretField(path[0]) {
				add(n.ID, fmt.Sprintf("readyWhen[%d].expr", k), "reads "+path.String()+" of a Secret",
					"whether a graph is ready must not depend on values of Secrets")
				break
			}
		}
	}
}

// outputSecrets reports outputs that read a value of a Secret.
func (g *Graph) outputSecrets() []Problem {
	var problems []Problem
	for _, late := range g.Outputs {
		if read, _ := g.secretRead(late); read != "" {
			problems = append(problems, NewProblem("", append(reference.Path{"outputs"}, late.Path...).String(),
				"reads "+read, "values of Secrets never go into outputs"))
		}
	}
	return problems
}

// secretRead describes the first read of a Secret's values in an expression, and
// reports whether it reads a single value. It returns "" if there is none. The path
// config.data.password consists of the node, the field and the key; a shorter one
// reads all values and the names of their keys. Has() counts as a read of all, too,
// because its result depends on a key that need not exist.
func (g *Graph) secretRead(late Late) (read string, single bool) {
	for _, path := range late.Selects() {
		id, _ := path[0].(string)
		i, ok := g.index[id]
		switch {
		case !ok || !isSecret(g.Nodes[i].GroupKind()):
		case len(path) == 1:
			return "the whole Secret " + id, false
		case !isSecretField(path[1]):
		case len(path) == 2:
			return path[1:].String() + " of the Secret " + id, false
		default:
			read, single = path[1:].String()+" of the Secret "+id, true
		}
	}
	return read, single
}

// lastApplied is the annotation in which kubectl apply stores a copy of the whole
// object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// SecretView returns a copy of a Secret as expressions see it: with no other values
// than those of keys. If there are no keys, reading data or stringData is an error
// with the message why. The metadata has no copies of values or keys. The Secret
// isn't changed.
func SecretView(secret map[string]any, keys []SecretKey, why string) map[string]any {
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		values, ok := secret[field].(map[string]any)
		delete(secret, field)
		if !ok {
			continue
		}
		if len(keys) == 0 {
			secret[field] = reference.Refuse(why)
			continue
		}
		kept := map[string]any{}
		for _, k := range keys {
			if value, ok := values[k.Key]; ok && k.Field == field {
				kept[k.Key] = value
			}
		}
		secret[field] = kept
	}
	metadata, ok := secret["metadata"].(map[string]any)
	if !ok {
		return secret
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		metadata["annotations"] = annotations
	}
	secret["metadata"] = metadata
	return secret
}
