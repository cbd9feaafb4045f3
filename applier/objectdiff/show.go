package objectdiff

// Line is a line of a report about an object.
type Line struct {
	// Sign is '+', '-' or '~' for the action, '!' for a warning, or a space.
	Sign byte
	// Indent is the number of spaces before the text.
	Indent int
	// Text has no control characters. Every skin escapes it for its own language.
	Text string
}

// Lines returns the body of the report about an object: an added object as YAML, and the
// changed fields of others. A removed object has no lines.
func (o *ObjectDiff) Lines() []Line {
	var all []Line
	for _, l := range o.lines() {
		all = append(all, Line{l.sign, l.indent, l.text})
	}
	return all
}

// Sign returns the sign of an action: '+', '-' or '~'.
func (a Action) Sign() byte { return signOf(a) }

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
