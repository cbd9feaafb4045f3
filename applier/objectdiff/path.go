package objectdiff

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/source"
)

// Path leads from an object to a value inside it. A step is a string for the key
// of a map, an int for the index of a list, or a member for a list whose members
// have keys. The path
//
//	spec.ports[name=http].port
//
// has the steps "spec", "ports", member{keys: {"name"}, values: {"http"}} and
// "port".
type Path []any

// member identifies a member of a list by the values of its keys. Both slices have
// the same length.
type member struct{ keys, values []string }

// nodePath is the first step of paths to the settings of a node, as opposed to the
// fields of its object.
const nodePath = "(node)"

// with returns a new path that is one step longer. It never shares memory that
// another call of with could overwrite.
func (p Path) with(step any) Path { return append(p[:len(p):len(p)], step) }

// String formats the path as users of kubectl write it:
// spec.template.spec.containers[name=app].image.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case member:
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

// String formats the keys as [name=app] or [port=80,protocol=TCP]. Different members
// of a list have different strings.
func (m member) String() string {
	parts := make([]string, len(m.keys))
	for i, k := range m.keys {
		v := m.values[i]
		if v == "" || strings.ContainsAny(v, " ,=[]\"") || source.Escape(v, "\t") != v {
			v = strconv.Quote(v)
		}
		parts[i] = k + "=" + v
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// name returns the member as the report of a new order shows it: the value of its
// only key, or all keys without brackets.
func (m member) name() string {
	if len(m.values) == 1 {
		return m.values[0]
	}
	text := m.String()
	return text[1 : len(text)-1]
}

// isSet reports whether the path leads to a list that is a set: a member is added
// or removed, but never changed into another one. Besides the dependencies of a
// node, these are the sets of strings in metadata, RBAC rules and volume claims.
func (p Path) isSet() bool {
	switch p.last() {
	case "dependencies":
		return p[0] == nodePath
	case "finalizers", "verbs", "apiGroups", "resources", "resourceNames", "accessModes":
		return true
	}
	return false
}

// keys returns the map keys of the path, without steps into lists.
func (p Path) keys() []string {
	var keys []string
	for _, step := range p {
		if s, ok := step.(string); ok {
			keys = append(keys, s)
		}
	}
	return keys
}

// last returns the last map key of the path, or "".
func (p Path) last() string {
	if keys := p.keys(); len(keys) > 0 {
		return keys[len(keys)-1]
	}
	return ""
}

// under reports whether the path leads to a field or below it. The field is given
// as map keys with dots between them, and matches in every member of a list:
// spec.containers.image matches spec.containers[name=app].image.
func (p Path) under(field string) bool {
	keys, want := p.keys(), strings.Split(field, ".")
	return len(keys) >= len(want) && slices.Equal(keys[:len(want)], want)
}
