package reference

import (
	"regexp"
	"strings"
	"sync"
)

// identifier matches CEL identifiers. It is compiled on first use.
var identifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// Bare reports whether a node's id can be used as an identifier in an expression, as
// in service.spec.clusterIP. All other ids are written nodes["worker-high"].
func Bare(id string) bool { return identifier().MatchString(id) && !reserved(id) }

// reserved reports whether an identifier has a meaning in every CEL expression:
// the reserved words and type names of the CEL language definition, and the map
// of all nodes. See
// https://github.com/google/cel-spec/blob/master/doc/langdef.md. A node with such
// an id remains usable, as nodes["type"].
func reserved(name string) bool {
	switch name {
	case nodesVariable,
		"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
		"namespace", "null", "package", "return", "true", "var", "void", "while",
		"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint":
		return true
	}
	return false
}

// bareHint returns a hint if expr uses an id as an identifier that is not one, or
// "" otherwise. Without the hint the message would mislead: CEL parses
// worker-high as a subtraction and complains about a node "worker". If several
// such ids occur, the longest one wins, because the id eu-worker-high contains
// the id worker-high.
func (s *NodeSet) bareHint(expr string) string {
	code := blankStrings(expr)
	longest := ""
	for _, id := range s.quoted {
		if len(id) > len(longest) && isIdentifierIn(code, id) {
			longest = id
		}
	}
	if longest == "" {
		return ""
	}
	return "write nodes[" + quote(longest) + "]"
}

// isIdentifierIn reports whether id is a word of code that is followed by a
// field, an index or a method call, or by the end of the code. Text before the id
// that makes it a part of a longer identifier or a field name rules out the
// match.
func isIdentifierIn(code, id string) bool {
	for from := 0; ; {
		i := strings.Index(code[from:], id)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(id)
		before := start == 0 || !wordByte(code[start-1]) && code[start-1] != '.'
		after := strings.TrimLeft(code[end:], " ")
		if before && (after == "" || after[0] == '.' || after[0] == '[') {
			return true
		}
		from = start + 1
	}
}

// wordByte reports whether c can be part of an identifier.
func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// blankStrings replaces the contents of string literals with spaces. It is only good
// enough for hints, because it misreads raw strings that end in a backslash.
func blankStrings(expr string) string {
	out := []byte(expr)
	var quoted byte
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case quoted == 0:
			if c == '"' || c == '\'' {
				quoted = c
			}
		case c == quoted:
			quoted = 0
		case c == '\\' && i+1 < len(out):
			out[i], out[i+1] = ' ', ' '
			i++
		default:
			out[i] = ' '
		}
	}
	return string(out)
}
