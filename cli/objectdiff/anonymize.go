package objectdiff

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// names has the names of one instance. They differ between instances in changes
// that are otherwise the same. graph is the name of the graph that the instance
// is rendered to. An empty name is not replaced.
type names struct {
	name, namespace, graph string
}

// anonymized returns a copy of the diff in which the names of an instance are
// replaced by <name>, <namespace> and <graph>, wherever they are whole words of
// names and values. Map keys and secret values are not changed.
//
// For the instance web in team-a, Service team-a/web-db becomes Service
// <namespace>/<name>-db. [Impact] compares the copies to find instances that
// change alike.
func (d Diff) anonymized(n names) Diff {
	var out Diff
	for _, o := range d.Objects {
		o.Key = n.key(o.Key)
		o.old, o.new = n.object(o.old), n.object(o.new)
		// The slices of d must not be changed: its diff may be that of a group.
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

// text replaces all names in s. A namespace is replaced only where it is
// certainly one: in namespace/name and in the DNS name of a Service. The graph
// comes before the name, because its name usually contains that of the instance.
func (n names) text(s string) string {
	if n.namespace != "" {
		s = strings.ReplaceAll(s, n.namespace+"/"+n.name, "<namespace>/"+n.name)
		s = strings.ReplaceAll(s, "."+n.namespace+".svc", ".<namespace>.svc")
	}
	return replaceWord(replaceWord(s, n.graph, "<graph>"), n.name, "<name>")
}

// replaceNamespace replaces a string that is a namespace.
func (n names) replaceNamespace(s string) string {
	if s != "" && s == n.namespace {
		return "<namespace>"
	}
	return s
}

// key replaces the names in the key of an object.
func (n names) key(k Key) Key {
	return Key{k.Group, k.Kind, n.replaceNamespace(k.Namespace), n.text(k.Name)}
}

// path replaces the names in the keys of list members.
func (n names) path(p Path) Path {
	out := make(Path, len(p))
	for i, step := range p {
		if s, ok := step.(member); ok {
			values := make([]string, len(s.values))
			for k, v := range s.values {
				values[k] = n.text(v)
			}
			step = member{s.keys, values}
		}
		out[i] = step
	}
	return out
}

// object returns a copy of an object, or nil for nil.
func (n names) object(o *Object) *Object {
	if o == nil {
		return nil
	}
	body, _ := n.value(o.body).(map[string]any)
	if metadata, ok := body["metadata"].(map[string]any); ok {
		if s, ok := metadata["namespace"].(string); ok {
			metadata["namespace"] = n.replaceNamespace(s)
		}
	}
	var node map[string]any
	if o.node != nil {
		node, _ = n.value(o.node).(map[string]any)
	}
	return &Object{Key: n.key(o.Key), body: body, graph: n.replaceGraph(o.graph), node: node, policy: o.policy}
}

// replaceGraph replaces the names in namespace/name of a graph.
func (n names) replaceGraph(s string) string {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return n.replaceNamespace(namespace) + "/" + n.text(name)
	}
	return n.text(s)
}

// value returns a copy of v with the names replaced in its strings.
func (n names) value(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case late:
		// Expressions refer to node ids, but may compare with names.
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
