package render

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"
)

// Bounds on one YAML document; past them it is refused rather than expanded.
const (
	maxYAMLDepth = 200
	maxYAMLNodes = 200_000
)

// source is one YAML file: its name, its bytes, and where its lines begin.
type source struct {
	name  string
	data  []byte
	lines []int
	file  *token.File
}

func newSource(name string, data []byte) *source {
	s := &source{name: name, data: data, lines: []int{0}}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			n = 2
		}
		i += n
		// YAML 1.1 ends lines at these, and so does the parser's count.
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			s.lines = append(s.lines, i)
		}
	}
	s.file = token.NewFile(name, -1, len(data)+1)
	s.file.SetLines(s.lines)
	return s
}

// pos gives the place of a line and a column that counts characters, both from 1.
func (s *source) pos(line, column int) token.Pos {
	if line < 1 || line > len(s.lines) {
		return s.file.Pos(0, token.NoRelPos)
	}
	i := s.lines[line-1]
	for ; column > 1 && i < len(s.data); column-- {
		_, n := utf8.DecodeRune(s.data[i:])
		i += n
	}
	return s.file.Pos(i, token.NoRelPos)
}

func (s *source) node(n *yaml.Node) token.Pos { return s.pos(n.Line, n.Column) }

// invalidUTF8 gives the place of the first byte that isn't UTF-8, if there is one.
func (s *source) invalidUTF8() (token.Pos, bool) {
	if utf8.Valid(s.data) {
		return token.Pos{}, false
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(s.data[i:])
		if r == utf8.RuneError && n == 1 {
			return s.file.Pos(i, token.NoRelPos), true
		}
		i += n
	}
}

// converter turns one YAML document into CUE syntax. Values that kubectl (YAML
// 1.1) and CUE (YAML 1.2) would read differently are problems, map keys are
// sorted, and numbers take the form that the API server gives them, so that an
// instance renders the same from a file and from a cluster.
type converter struct {
	src      *source
	problems Problems
	nodes    int
	reserved bool // refuse $from and $generate keys
}

func (c *converter) problem(n *yaml.Node, rule, path, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Pos: posOf(c.src.node(n)), Path: path, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...),
	})
}

// expr converts a value; it gives nil where it reported a problem.
func (c *converter) expr(n *yaml.Node, path string, depth int) ast.Expr {
	c.nodes++
	if c.nodes > maxYAMLNodes || depth > maxYAMLDepth {
		// Said once: all that follows would say the same.
		if c.nodes < 2*maxYAMLNodes {
			c.problem(n, RuleYAML, path, "", "more than %d values or %d levels in one document", maxYAMLNodes, maxYAMLDepth)
		}
		c.nodes = 2 * maxYAMLNodes
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
	c.problem(n, RuleYAML, path, "", "unexpected YAML node")
	return nil
}

func (c *converter) mapping(n *yaml.Node, path string, depth int) ast.Expr {
	s := &ast.StructLit{Lbrace: c.src.node(n)}
	seen := map[string]*yaml.Node{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		name, ok := c.key(k, path)
		if !ok {
			continue
		}
		at := joinPath(path, name)
		if first, dup := seen[name]; dup {
			c.problem(k, RuleYAML, at, "", "key given twice, first at line %d", first.Line)
			continue
		}
		seen[name] = k
		if c.reserved && (name == "$from" || name == "$generate") && path != "" {
			c.problem(k, RuleReserved, at, "", "%s belongs in modules, not in instances", name)
			continue
		}
		if e := c.expr(v, at, depth+1); e != nil {
			s.Elts = append(s.Elts, &ast.Field{Label: label(name, c.src.node(k)), Value: e})
		}
	}
	for _, m := range merges {
		c.merge(s, seen, m, path, depth)
	}
	sort.SliceStable(s.Elts, func(i, j int) bool { return fieldName(s.Elts[i]) < fieldName(s.Elts[j]) })
	return s
}

// merge adds what a `<<` key brings: the mapping's own keys win, then the
// earlier of several merged mappings.
func (c *converter) merge(s *ast.StructLit, seen map[string]*yaml.Node, n *yaml.Node, path string, depth int) {
	e := c.expr(n, path, depth+1)
	var from []ast.Expr
	switch e := e.(type) {
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
			if name := fieldName(d); seen[name] == nil {
				seen[name] = n
				s.Elts = append(s.Elts, d)
			}
		}
	}
	if from == nil && e != nil {
		c.problem(n, RuleYAML, path, "", "<< takes a mapping or a list of mappings")
	}
}

func (c *converter) key(k *yaml.Node, path string) (string, bool) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		c.problem(k, RuleYAML, path, "", "a key must be a string")
		return "", false
	}
	if quoted(k) {
		return k.Value, true
	}
	quote := fmt.Sprintf("write %q", k.Value)
	switch {
	case oldBool(k.Value):
		c.problem(k, RuleYAML, path, quote, "key %s is a string to some YAML readers and a boolean to kubectl", k.Value)
	case k.ShortTag() == "!!str", k.ShortTag() == "!!timestamp", plainInt.MatchString(k.Value):
		return k.Value, true
	default:
		c.problem(k, RuleYAML, path, quote, "key %s is not a string", k.Value)
	}
	return "", false
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
	case "!!str", "!!timestamp":
		if oldBool(n.Value) {
			c.problem(n, RuleYAML, path, fmt.Sprintf("write %q or %t", n.Value, oldTrue(n.Value)),
				"%s is a string to some YAML readers and a boolean to kubectl", n.Value)
			return nil
		}
		if sexagesimal.MatchString(n.Value) {
			c.problem(n, RuleYAML, path, quote, "%s is a string to some YAML readers and a number to others", n.Value)
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
		c.problem(n, RuleYAML, path, quote, "%s is not the same number to every YAML reader", n.Value)
	default:
		c.problem(n, RuleYAML, path, "", "tag %s is not supported", tag)
	}
	return nil
}
