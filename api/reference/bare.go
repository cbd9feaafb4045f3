package reference

import (
	"regexp"
	"strings"
	"sync"
)

var identifier = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// Bare says whether a node's id can stand alone in an expression, as service
// does in service.spec.clusterIP. Any other is reached as nodes["worker-high"].
func Bare(id string) bool { return identifier().MatchString(id) && !taken(id) }

// taken says whether an identifier means something in every CEL expression:
// the reserved words and the names of types of the language definition, and
// the map of all nodes.
func taken(name string) bool {
	switch name {
	case nodesVariable,
		"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
		"namespace", "null", "package", "return", "true", "var", "void", "while",
		"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint":
		return true
	}
	return false
}

// bareHint looks for an id in expr that can't stand alone there and does, and
// says how to write it. CEL reads worker-high as a subtraction, so that its
// own message would be about a node "worker".
func (s *Scope) bareHint(expr string) string {
	code := blankStrings(expr)
	longest := ""
	for _, id := range s.bare {
		if len(id) > len(longest) && standsAlone(code, id) {
			longest = id
		}
	}
	if longest == "" {
		return ""
	}
	return "write nodes[" + quote(longest) + "]"
}

// standsAlone says whether id is a word of code that a field, an index or a
// method follows, or that is all of it.
func standsAlone(code, id string) bool {
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

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// blankStrings replaces what stands inside string literals by spaces. It is
// only good enough for hints: raw strings that end in a backslash fool it.
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
