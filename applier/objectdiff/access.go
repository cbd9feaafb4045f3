package objectdiff

import (
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Keys returns the map keys of the path, without steps into lists. The settings of a
// node begin with "(node)".
func (p Path) Keys() []string { return p.keys() }

// Old returns the value before the change, or nil for Add. Values of Secrets are masked
// when they are formatted. The caller must not change it.
func (c Change) Old() any { return c.old }

// New returns the value after the change, or nil for Remove. The rules of Old apply.
func (c Change) New() any { return c.new }

// Old returns the object before the change, or nil if it is added.
func (o *ObjectDiff) Old() *Object { return o.old }

// New returns the object after the change, or nil if it is removed.
func (o *ObjectDiff) New() *Object { return o.new }

// Field returns the value at a path of map keys, or nil. Values of Secrets are masked
// when they are formatted. The caller must not change it.
func (o *Object) Field(path ...string) any { return jsonvalue.Field(o.body, path...) }

// NodePath returns a path of a change as it leads from the node of the object, with the
// indexes of list members instead of their keys: resource.spec.containers[0].image. It
// reports false if the object has no such value.
func (o *Object) NodePath(p Path) (string, bool) {
	var v any = o.body
	text := "resource"
	if len(p) > 0 && p[0] == nodePath {
		v, text, p = o.node, "", p[1:]
	}
	for _, step := range p {
		var ok bool
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v, ok = m[step]
			text = fieldpath.Join(text, step)
		case int:
			list, _ := v.([]any)
			if ok = step < len(list); ok {
				v = list[step]
			}
			text += fieldpath.Index(step)
		case member:
			list, _ := v.([]any)
			found, _ := members(step.keys, list)
			for i, m := range found {
				if m.String() == step.String() {
					v, ok = list[i], true
					text += fieldpath.Index(i)
				}
			}
		}
		if !ok {
			return "", false
		}
	}
	return text, true
}

// NodeID returns the id of the node that the object was read from, or "".
func (o *Object) NodeID() string {
	id, _ := o.node["id"].(string)
	return id
}

// SetsReplicas reports whether the object has spec.replicas, and not only because the graph
// leaves the field to another manager.
func (o *Object) SetsReplicas() bool {
	return jsonvalue.Field(o.body, "spec", "replicas") != nil && !o.foreignReplicas
}

// Stays reports whether the object stays in the cluster when it leaves its graph.
func (o *Object) Stays() bool { return o.policy.orphaned || o.policy.kept != "" }

// RecreatedIfImmutable reports whether the object is deleted and created again when an
// immutable field changes.
func (o *Object) RecreatedIfImmutable() bool { return o.policy.recreated }

// Graph returns the graph that owns the object, as namespace/name, or "".
func (o *ObjectDiff) Graph() string { return o.object().graph }

// Files returns the files that the object was read from. Either may be empty.
func (o *ObjectDiff) Files() (before, after string) {
	if o.old != nil {
		before = o.old.File
	}
	if o.new != nil {
		after = o.new.File
	}
	return before, after
}

// YAML returns the lines of an object on one side, which may be nil. Secrets are masked,
// and there are no control characters.
func (o *Object) YAML() []string {
	if o == nil {
		return nil
	}
	return block(o.body)
}

// Inline returns both values of a change, each on one line. Values that look the same, such
// as secrets, are marked.
func (c Change) Inline() (before, after string) { return c.inline() }

// Name returns the last map key of the path, which is the field as people call it.
func (c Change) Name() string { return c.Path.last() }
