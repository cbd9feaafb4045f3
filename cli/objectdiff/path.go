package objectdiff

import (
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/source"
)

// Path leads from an object to a value inside it. A string is the key of a map,
// an int the index of a list, and an item a member of a list of named things.
type Path []any

// item names a member of a list by the values of its keys.
type item struct{ keys, values []string }

// nodePath begins paths to what a graph says of an object, rather than to what
// the object says itself.
const nodePath = "(node)"

func (p Path) with(step any) Path { return append(p[:len(p):len(p)], step) }

// String writes the path as kubectl's users do:
// spec.template.spec.containers[name=app].image.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case item:
			b.WriteString(step.String())
		case string:
			if i == 0 && step == nodePath {
				b.WriteString(step)
				continue
			}
			text := reference.Path{step}.String()
			if b.Len() > 0 && text[0] != '[' {
				b.WriteByte('.')
			}
			b.WriteString(text)
		}
	}
	return b.String()
}

func (s item) String() string {
	parts := make([]string, len(s.keys))
	for i, k := range s.keys {
		v := s.values[i]
		if v == "" || strings.ContainsAny(v, " ,=[]\"") || source.Escape(v, "\t") != v {
			v = strconv.Quote(v)
		}
		parts[i] = k + "=" + v
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// isSet says whether the path is that of a list in which no member can take the
// place of another.
func (p Path) isSet() bool {
	switch p.last() {
	case "dependencies":
		return p[0] == nodePath
	case "finalizers", "verbs", "apiGroups", "resources", "resourceNames", "accessModes":
		return true
	}
	return false
}

// keys gives the map keys on the way, without what stands for lists.
func (p Path) keys() []string {
	var keys []string
	for _, step := range p {
		if s, ok := step.(string); ok {
			keys = append(keys, s)
		}
	}
	return keys
}

// last gives the last map key.
func (p Path) last() string {
	if keys := p.keys(); len(keys) > 0 {
		return keys[len(keys)-1]
	}
	return ""
}

// under says whether the path is that of a field, or leads below it. The field
// is given as keys with dots between them.
func (p Path) under(field string) bool {
	keys, want := p.keys(), strings.Split(field, ".")
	if len(keys) < len(want) {
		return false
	}
	for i, k := range want {
		if keys[i] != k {
			return false
		}
	}
	return true
}
