package objectdiff

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// Names are those of one instance, which differ from instance to instance in what
// is otherwise one change.
type Names struct {
	Name, Namespace, Graph string
}

// anonymous gives a copy of a diff in which the names of an instance are <name>,
// <namespace> and <graph>, wherever they stand in names and values as words. Keys
// of maps and secret values stay as they are.
func (d Diff) anonymous(n Names) Diff {
	var out Diff
	for _, o := range d.Objects {
		o.Key = n.key(o.Key)
		o.old, o.new = n.object(o.old), n.object(o.new)
		var list []Change
		for _, c := range o.Changes {
			list = append(list, Change{n.path(c.Path), c.Action, c.By, n.value(c.old), n.value(c.new)})
		}
		o.Changes = list
		var warnings problem.List
		for _, w := range o.Warnings {
			w.Message = n.text(w.Message)
			warnings = append(warnings, w)
		}
		o.Warnings = warnings
		out.Objects = append(out.Objects, o)
	}
	return out
}

func (n Names) text(s string) string {
	if n.Namespace != "" {
		s = strings.ReplaceAll(s, n.Namespace+"/"+n.Name, "<namespace>/"+n.Name)
		s = strings.ReplaceAll(s, "."+n.Namespace+".svc", ".<namespace>.svc")
	}
	return replaceWord(replaceWord(s, n.Graph, "<graph>"), n.Name, "<name>")
}

// replaceWord replaces a name where it isn't part of a longer word; a dash ends a
// word.
func replaceWord(s, name, by string) string {
	if name == "" {
		return s
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(s[at:], name)
		if i < 0 {
			b.WriteString(s[at:])
			return b.String()
		}
		i += at
		end := i + len(name)
		if i > 0 && inWord(s[i-1]) || end < len(s) && inWord(s[end]) {
			b.WriteString(s[at : i+1])
			at = i + 1
			continue
		}
		b.WriteString(s[at:i] + by)
		at = end
	}
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '<'
}

func (n Names) namespace(s string) string {
	if s != "" && s == n.Namespace {
		return "<namespace>"
	}
	return s
}

func (n Names) key(k Key) Key {
	return Key{k.Group, k.Kind, n.namespace(k.Namespace), n.text(k.Name)}
}

func (n Names) path(p Path) Path {
	out := make(Path, len(p))
	for i, step := range p {
		if s, ok := step.(item); ok {
			values := make([]string, len(s.values))
			for k, v := range s.values {
				values[k] = n.text(v)
			}
			step = item{s.keys, values}
		}
		out[i] = step
	}
	return out
}

func (n Names) object(o *Object) *Object {
	if o == nil {
		return nil
	}
	body, _ := n.value(o.body).(map[string]any)
	if metadata, ok := body["metadata"].(map[string]any); ok {
		if s, ok := metadata["namespace"].(string); ok {
			metadata["namespace"] = n.namespace(s)
		}
	}
	var node map[string]any
	if o.node != nil {
		node, _ = n.value(o.node).(map[string]any)
	}
	return &Object{Key: n.key(o.Key), body: body, graph: n.graph(o.graph), node: node, policy: o.policy}
}

func (n Names) graph(s string) string {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return n.namespace(namespace) + "/" + n.text(name)
	}
	return n.text(s)
}

func (n Names) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case late:
		v.expr = n.text(v.expr)
		return v
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = n.value(item)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, item := range v {
			l[i] = n.value(item)
		}
		return l
	}
	return v
}
