package yamlfile

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// sexagesimal matches numbers in base 60 of YAML 1.1, such as 12:30:45.
var sexagesimal = lazyregexp.New(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// key returns the name of a mapping's key. It returns false if it reported a
// problem. Besides strings, it accepts timestamps and integers without quotes,
// which every reader turns into the same string.
func (c *converter) key(k *yaml.Node, path string) (string, bool) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		c.problem(k, problem.RuleYAML, path, "", "a key must be a string")
		return "", false
	}
	if isQuoted(k) {
		return k.Value, true
	}
	quote := fmt.Sprintf("write %q", k.Value)
	switch {
	case isYAML11Bool(k.Value):
		c.problem(k, problem.RuleYAML, path, quote, "key %s is a string to some YAML readers and a boolean to kubectl", k.Value)
	case k.ShortTag() == "!!str", k.ShortTag() == "!!timestamp", isCanonicalInteger(k.Value):
		return k.Value, true
	default:
		c.problem(k, problem.RuleYAML, path, quote, "key %s is not a string", k.Value)
	}
	return "", false
}

// scalar converts a scalar. A number that the conversion rewrites, such as 1.10
// to 1.1, keeps its original spelling as a comment, for messages.
func (c *converter) scalar(n *yaml.Node, path string) ast.Expr {
	pos := c.file.nodePos(n)
	if isQuoted(n) {
		return cuesyntax.String(n.Value, pos)
	}
	// The tags are those that the library resolved by YAML 1.2 with some of the
	// forms of YAML 1.1. The cases below refuse what kubectl resolves otherwise.
	quote := fmt.Sprintf("quote it (%q) or write it plainly", n.Value)
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return &ast.BasicLit{ValuePos: pos, Kind: token.NULL, Value: "null"}
	case "!!bool":
		return cuesyntax.Bool(strings.EqualFold(n.Value, "true"), pos)
	case "!!str", "!!timestamp", "!!merge":
		if isYAML11Bool(n.Value) {
			c.ambiguous(n, path, fmt.Sprintf("write %q or %t", n.Value, yaml11Bool(n.Value)),
				"%s is a string to some YAML readers and a boolean to kubectl")
			return cuesyntax.Bool(yaml11Bool(n.Value), pos)
		}
		if sexagesimal().MatchString(n.Value) {
			c.ambiguous(n, path, quote, "%s is a string to some YAML readers and a number to others")
		}
		return cuesyntax.String(n.Value, pos)
	case "!!int", "!!float":
		if lit := cuesyntax.Number(n.Value); lit != nil {
			lit.ValuePos = pos
			if lit.Value != n.Value {
				ast.AddComment(lit, &ast.CommentGroup{List: []*ast.Comment{{Text: "//" + n.Value}}})
			}
			return lit
		}
		if cuesyntax.IsDecimalInteger(n.Value) {
			c.ambiguous(n, path, fmt.Sprintf("quote it (%q) if it is no number", n.Value), "%s does not fit into 64 bits")
		} else {
			c.ambiguous(n, path, quote, "%s is not the same number to every YAML reader")
		}
		return cuesyntax.String(n.Value, pos)
	default:
		c.problem(n, problem.RuleYAML, path, "leave it out", "tag %s is not supported", tag)
	}
	return nil
}

// ambiguous reports a scalar that readers take for different values. format has a
// verb for its text. The caller returns a stand-in: the value of kubectl, or the text.
func (c *converter) ambiguous(n *yaml.Node, path, hint, format string) {
	c.problem(n, problem.RuleYAML, path, hint, format, n.Value)
	c.standIns++
}

// isQuoted reports whether a scalar is a string by its style or its tag,
// independent of its text.
func isQuoted(n *yaml.Node) bool {
	const styles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&styles != 0 && n.ShortTag() == "!!str" || n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str"
}

// isCanonicalInteger reports whether every parser turns an integer key into the
// same string: 80 is one, and 0x50, 080 and +80 are not.
func isCanonicalInteger(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

// isYAML11Bool reports whether a plain scalar is a boolean in YAML 1.1, which
// kubectl reads, and a string in YAML 1.2.
func isYAML11Bool(s string) bool {
	switch s {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return false
}

// yaml11Bool returns the boolean that such a scalar is in YAML 1.1.
func yaml11Bool(s string) bool {
	return isYAML11Bool(s) && (s[0] == 'y' || s[0] == 'Y' || strings.EqualFold(s, "on"))
}
