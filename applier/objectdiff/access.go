package objectdiff

import "github.com/pequod-io/pequod/internal/jsonvalue"

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
