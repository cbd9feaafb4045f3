package render

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"
)

// Bounds on one YAML document; past them it is refused rather than expanded.
const (
	maxYAMLDepth = 200
	maxYAMLNodes = 200_000
)

// converter turns one YAML document into CUE syntax. Values that kubectl (YAML
// 1.1) and CUE (YAML 1.2) would read differently are problems, map keys are
// sorted, and numbers take the form that the API server gives them, so that an
// instance renders the same from a file and from a cluster.
type converter struct {
	src      *yamlFile
	problems problem.List
	nodes    int
	reserved bool         // refuse $from and $generate keys
	open     []*yaml.Node // anchored values around the one at hand
}

func (c *converter) problem(n *yaml.Node, rule, path, hint, format string, args ...any) {
	c.problems = append(c.problems, problem.Problem{
		Position: posOf(c.src.node(n)), Path: path, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// expr converts a value; it gives nil where it reported a problem.
func (c *converter) expr(n *yaml.Node, path string, depth int) ast.Expr {
	c.nodes++
	switch {
	case c.nodes > 2*maxYAMLNodes:
		return nil // said once: all that follows would say the same
	case c.nodes > maxYAMLNodes:
		c.tooMuch(n, fmt.Sprintf("more than %d values in one document", maxYAMLNodes))
		return nil
	case depth > maxYAMLDepth:
		c.tooMuch(n, fmt.Sprintf("more than %d levels deep", maxYAMLDepth))
		return nil
	case n.Kind == yaml.AliasNode && slices.Contains(c.open, n.Alias):
		c.tooMuch(n, fmt.Sprintf("anchor %s contains itself", n.Value))
		return nil
	}
	if n.Anchor != "" {
		c.open = append(c.open, n)
		defer func() { c.open = c.open[:len(c.open)-1] }()
	}
	if c.tagged(n, path) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.expr(n.Alias, path, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, path, depth)
	case yaml.SequenceNode:
		list := &ast.ListLit{Lbrack: c.src.node(n)}
		for i, item := range n.Content {
			if e := c.expr(item, path+"["+strconv.Itoa(i)+"]", depth+1); e != nil {
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

// tooMuch is a problem of the whole document, which is not read any further.
func (c *converter) tooMuch(n *yaml.Node, message string) {
	c.nodes = 2 * maxYAMLNodes
	c.problem(n, problem.RuleYAML, "", "", "%s", message)
}

// tagged refuses explicit tags that don't just say what the value is anyway:
// readers of YAML differ in what they make of them.
func (c *converter) tagged(n *yaml.Node, path string) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		// The library forgets the tag that makes 5 a string to kubectl.
		if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() != "!!str" && c.src.bareTag(n) {
			c.problem(n, problem.RuleYAML, path, "leave it out", "tag ! is not supported")
			return true
		}
		return false
	}
	plain := *n
	plain.Tag, plain.Style = "", n.Style&^yaml.TaggedStyle
	if n.Tag == "!!str" || n.Tag == plain.ShortTag() || n.Tag == "!!float" && plain.ShortTag() == "!!int" {
		return false
	}
	c.problem(n, problem.RuleYAML, path, "leave it out", "tag %s is not supported", n.Tag)
	return true
}

func (c *converter) mapping(n *yaml.Node, path string, depth int) ast.Expr {
	s := &ast.StructLit{Lbrace: c.src.node(n)}
	seen := map[string]*yaml.Node{}
	var merges *yaml.Node
	before := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			if merges != nil {
				c.problem(k, problem.RuleYAML, path, "", "key << given twice")
			}
			merges = v
			for name := range seen {
				before[name] = true
			}
			continue
		}
		name, ok := c.key(k, path)
		if !ok {
			continue
		}
		at := joinPath(path, name)
		if first, dup := seen[name]; dup {
			c.problem(k, problem.RuleYAML, at, "", "key given twice, first at line %d", first.Line)
			continue
		}
		seen[name] = k
		if c.reserved && (name == "$from" || name == "$generate") && path != "" {
			c.problem(k, problem.RuleReserved, at, "", "%s belongs in modules, not in instances", name)
			continue
		}
		if e := c.expr(v, at, depth+1); e != nil {
			s.Elts = append(s.Elts, &ast.Field{Label: label(name, c.src.node(k)), Value: e})
		}
	}
	if merges != nil {
		c.merge(s, seen, before, merges, path, depth)
	}
	sort.SliceStable(s.Elts, func(i, j int) bool { return fieldName(s.Elts[i]) < fieldName(s.Elts[j]) })
	return s
}

// merge adds what a `<<` key brings: the mapping's own keys win, then the
// earlier of several merged mappings. Own keys that stand before it win only by
// the standard, not to kubectl.
func (c *converter) merge(s *ast.StructLit, seen map[string]*yaml.Node, before map[string]bool, n *yaml.Node, path string, depth int) {
	var from []ast.Expr
	switch e := c.expr(n, path, depth+1).(type) {
	case nil:
		return
	case *ast.StructLit:
		from = []ast.Expr{e}
	case *ast.ListLit:
		from = e.Elts
	}
	for _, m := range from {
		st, ok := m.(*ast.StructLit)
		if !ok {
			from = nil
			break
		}
		for _, d := range st.Elts {
			name := fieldName(d)
			if before[name] {
				c.problem(n, problem.RuleYAML, path, "put << before the other keys", "<< brings key %s, which stands before it", name)
			}
			if seen[name] == nil {
				seen[name] = n
				s.Elts = append(s.Elts, d)
			}
		}
	}
	if from == nil {
		c.problem(n, problem.RuleYAML, path, "", "<< takes a mapping or a list of mappings")
	}
}

func (c *converter) key(k *yaml.Node, path string) (string, bool) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		c.problem(k, problem.RuleYAML, path, "", "a key must be a string")
		return "", false
	}
	if quoted(k) {
		return k.Value, true
	}
	quote := fmt.Sprintf("write %q", k.Value)
	switch {
	case oldBool(k.Value):
		c.problem(k, problem.RuleYAML, path, quote, "key %s is a string to some YAML readers and a boolean to kubectl", k.Value)
	case k.ShortTag() == "!!str", k.ShortTag() == "!!timestamp", isPlainKey(k.Value):
		return k.Value, true
	default:
		c.problem(k, problem.RuleYAML, path, quote, "key %s is not a string", k.Value)
	}
	return "", false
}

// isPlainKey says whether every reader takes a number for the same key.
func isPlainKey(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

var (
	// plainInt is what every YAML reader takes for the same decimal number.
	plainInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	// plainFloat likewise; .5 and 5. are the same to all readers too.
	plainFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	// sexagesimal is a number in base 60 to YAML 1.1, such as 12:30:45.
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
)

func (c *converter) scalar(n *yaml.Node, path string) ast.Expr {
	pos := c.src.node(n)
	if quoted(n) {
		return stringLit(n.Value, pos)
	}
	quote := fmt.Sprintf("quote it (%q) or write it plainly", n.Value)
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return &ast.BasicLit{ValuePos: pos, Kind: token.NULL, Value: "null"}
	case "!!bool":
		return boolLit(strings.EqualFold(n.Value, "true"), pos)
	case "!!str", "!!timestamp", "!!merge":
		if oldBool(n.Value) {
			c.problem(n, problem.RuleYAML, path, fmt.Sprintf("write %q or %t", n.Value, oldTrue(n.Value)),
				"%s is a string to some YAML readers and a boolean to kubectl", n.Value)
			return nil
		}
		if sexagesimal.MatchString(n.Value) {
			c.problem(n, problem.RuleYAML, path, quote, "%s is a string to some YAML readers and a number to others", n.Value)
			return nil
		}
		return stringLit(n.Value, pos)
	case "!!int", "!!float":
		if lit := number(n.Value); lit != nil {
			lit.ValuePos = pos
			if lit.Value != n.Value {
				ast.AddComment(lit, &ast.CommentGroup{List: []*ast.Comment{{Text: "//" + n.Value}}})
			}
			return lit
		}
		if plainInt.MatchString(n.Value) {
			c.problem(n, problem.RuleYAML, path, fmt.Sprintf("quote it (%q) if it is no number", n.Value), "%s does not fit into 64 bits", n.Value)
			return nil
		}
		c.problem(n, problem.RuleYAML, path, quote, "%s is not the same number to every YAML reader", n.Value)
	default:
		c.problem(n, problem.RuleYAML, path, "leave it out", "tag %s is not supported", tag)
	}
	return nil
}
