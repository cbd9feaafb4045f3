package yamlfile

import (
	"fmt"
	"slices"
	"sort"

	"cuelang.org/go/cue/ast"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Bounds on one document. A document that exceeds them, for example by aliases
// that repeat each other, is refused and not expanded. They are far above any
// instance that a person writes.
const (
	maxDepth  = 200
	maxValues = 200_000
)

// converter turns one document into CUE syntax. It reports values that kubectl
// (YAML 1.1) and CUE (YAML 1.2) would read differently, sorts keys, and writes
// numbers as the API server returns them, so that an instance renders the same
// from a file and from a cluster.
//
// A problem does not end the conversion, except for those that stop reports: one
// read finds every mistake of a document. A scalar that readers disagree about is
// converted to a stand-in, so that the values around it can be checked, too; see
// ambiguous.
type converter struct {
	file     *file
	problems problem.List
	// standIns counts the problems of scalars that have a stand-in. The syntax is
	// complete if all problems are such.
	standIns int
	// values counts the values converted so far, aliases expanded.
	values int
	// reserved are the keys that are refused below the top level.
	reserved []string
	// open holds the anchored values around the current one, to find anchors
	// that contain themselves.
	open []*yaml.Node
}

// problem reports a problem at a node. The conversion goes on, so that one
// read reports every problem of a document.
func (c *converter) problem(n *yaml.Node, rule, path, hint, format string, args ...any) {
	c.problems = append(c.problems, problem.Problem{
		Position: cuesyntax.Position(c.file.nodePos(n)), Path: path, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// value converts a value. It returns nil if it reported a problem. path is that
// of the value, and depth the number of values around it. An alias is converted
// again wherever it stands, and each time counts as values of its own.
func (c *converter) value(n *yaml.Node, path string, depth int) ast.Expr {
	c.values++
	switch {
	case c.values > 2*maxValues:
		return nil // stop reported it already
	case c.values > maxValues:
		c.stop(n, fmt.Sprintf("more than %d values in one document", maxValues))
		return nil
	case depth > maxDepth:
		c.stop(n, fmt.Sprintf("more than %d levels deep", maxDepth))
		return nil
	case n.Kind == yaml.AliasNode && slices.Contains(c.open, n.Alias):
		c.stop(n, fmt.Sprintf("anchor %s contains itself", n.Value))
		return nil
	}
	if n.Anchor != "" {
		c.open = append(c.open, n)
		defer func() { c.open = c.open[:len(c.open)-1] }()
	}
	if c.refuseTag(n, path) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, path, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, path, depth)
	case yaml.SequenceNode:
		list := &ast.ListLit{Lbrack: c.file.nodePos(n)}
		for i, item := range n.Content {
			if e := c.value(item, path+fieldpath.Index(i), depth+1); e != nil {
				list.Elts = append(list.Elts, e)
			}
		}
		return list
	case yaml.ScalarNode:
		return c.scalar(n, path)
	}
	c.problem(n, problem.RuleYAML, path, "", "unexpected YAML node")
	return nil
}

// stop reports a problem of the whole document and ends its conversion: with this
// count value returns at once for every further value.
func (c *converter) stop(n *yaml.Node, message string) {
	c.values = 2 * maxValues
	c.problem(n, problem.RuleYAML, "", "", "%s", message)
}

// refuseTag reports an explicit tag that changes the type of a value, and
// returns whether it did. YAML parsers treat such tags differently.
func (c *converter) refuseTag(n *yaml.Node, path string) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		// The library drops the tag "!", which makes 5 a string for kubectl.
		if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() != "!!str" && c.file.hasBareTag(n) {
			c.problem(n, problem.RuleYAML, path, "leave it out", "tag ! is not supported")
			return true
		}
		return false
	}
	// The type that the value would have without its tag. A tag that does not
	// change it is harmless, and so are !!str and a whole number as !!float.
	untagged := *n
	untagged.Tag, untagged.Style = "", n.Style&^yaml.TaggedStyle
	if n.Tag == "!!str" || n.Tag == untagged.ShortTag() || n.Tag == "!!float" && untagged.ShortTag() == "!!int" {
		return false
	}
	c.problem(n, problem.RuleYAML, path, "leave it out", "tag %s is not supported", n.Tag)
	return true
}

// mapping converts a mapping, with its merge key and with keys sorted. A key that
// is given twice is a problem; its second value is not converted. A field whose
// value has a problem is left out.
func (c *converter) mapping(n *yaml.Node, path string, depth int) ast.Expr {
	s := &ast.StructLit{Lbrace: c.file.nodePos(n)}
	m := merge{keys: map[string]*yaml.Node{}, before: map[string]bool{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		// The merge key is applied last, since the mapping's own keys win.
		if isMergeKey(k) {
			if m.value != nil {
				c.problem(k, problem.RuleYAML, path, "", "key << given twice")
			}
			m.value = v
			for name := range m.keys {
				m.before[name] = true
			}
			continue
		}
		name, ok := c.key(k, path)
		if !ok {
			continue
		}
		at := fieldpath.Join(path, name)
		if first, dup := m.keys[name]; dup {
			c.problem(k, problem.RuleYAML, at, "", "key given twice, first at line %d", first.Line)
			continue
		}
		m.keys[name] = k
		if path != "" && slices.Contains(c.reserved, name) {
			c.problem(k, problem.RuleReserved, at, "", "%s belongs in modules, not in instances", name)
			continue
		}
		if e := c.value(v, at, depth+1); e != nil {
			s.Elts = append(s.Elts, &ast.Field{Label: cuesyntax.Label(name, c.file.nodePos(k)), Value: e})
		}
	}
	if m.value != nil {
		c.merge(s, m, path, depth)
	}
	sort.SliceStable(s.Elts, func(i, j int) bool { return cuesyntax.FieldName(s.Elts[i]) < cuesyntax.FieldName(s.Elts[j]) })
	return s
}
