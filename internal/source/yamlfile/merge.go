package yamlfile

import (
	"cuelang.org/go/cue/ast"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// merge is the merge key `<<` of a mapping, and the mapping's own keys.
type merge struct {
	// value is the value of the merge key, or nil if the mapping has none.
	value *yaml.Node
	// keys holds the mapping's own keys by name, and the merged ones once
	// merged.
	keys map[string]*yaml.Node
	// before holds the names of keys that stand before the merge key.
	before map[string]bool
}

// merge adds the fields of the merge key to a mapping. The mapping's own keys
// win, then the earlier of several merged mappings. For kubectl an own key wins
// only if it stands behind the merge key, so an own key before it is a problem.
// For example, b is 1 here:
//
//	base: &base {a: 1, b: 1}
//	other: {<<: *base, a: 2}
func (c *converter) merge(s *ast.StructLit, m merge, path string, depth int) {
	var from []ast.Expr
	switch e := c.value(m.value, path, depth+1).(type) {
	case nil:
		return
	case *ast.StructLit:
		from = []ast.Expr{e}
	case *ast.ListLit:
		from = e.Elts
	}
	for _, e := range from {
		merged, ok := e.(*ast.StructLit)
		if !ok {
			from = nil
			break
		}
		for _, d := range merged.Elts {
			name := cuesyntax.FieldName(d)
			if m.before[name] {
				c.problem(m.value, problem.RuleYAML, path, "put << before the other keys", "<< brings key %s, which stands before it", name)
			}
			if m.keys[name] == nil {
				m.keys[name] = m.value
				s.Elts = append(s.Elts, d)
			}
		}
	}
	if from == nil {
		c.problem(m.value, problem.RuleYAML, path, "", "<< takes a mapping or a list of mappings")
	}
}

// isMergeKey reports whether a key is the merge key.
func isMergeKey(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge"
}

// mergedBy returns the mappings that the value of a merge key names.
func mergedBy(value *yaml.Node) []*yaml.Node {
	if value = target(value); value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}

// lookup returns the value of a key of a mapping, or nil. It finds the value that converter.merge
// gives the key, without converting the mapping, and follows aliases. searched has the nodes that
// lack the key: an anchor can contain itself, or be merged many times.
func lookup(n *yaml.Node, key string, searched map[*yaml.Node]bool) *yaml.Node {
	n = target(n)
	if n.Kind != yaml.MappingNode || searched[n] {
		return nil
	}
	searched[n] = true
	var found, merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k, value := n.Content[i], target(n.Content[i+1]); {
		case isMergeKey(k):
			merged = value
		case target(k).Value == key:
			found = value
		}
	}
	if found != nil || merged == nil {
		return found
	}
	for _, m := range mergedBy(merged) {
		if v := lookup(m, key, searched); v != nil {
			return v
		}
	}
	return nil
}

// target returns the node that an alias stands for, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
