package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// areExclusive says whether what is in one of the members contradicts all of the
// others. CUE rejects what contradicts fewer, unless a default decides: what is in
// the default may fit others, too.
func areExclusive(s shape) bool {
	for i, t := range s {
		for _, u := range s[i+1:] {
			if !decides(t.object, u.object) && !decides(u.object, t.object) && !(excludes(t.object, u.object) && excludes(u.object, t.object)) {
				return false
			}
		}
	}
	return true
}

// decides says whether o is the default and nothing is left to choose between o and
// p: what is in o is meant to be, and what isn't contradicts o.
func decides(o, p *object) bool {
	return o.standing && (excludes(p, o) || !(shape{{kind: cue.StructKind, object: o}}).waits())
}

// waits says whether a value may be incomplete, which is not to contradict s.
func (s shape) waits() bool {
	return slices.ContainsFunc(s, func(t term) bool {
		if len(t.checks) > 0 {
			return true
		}
		switch o := t.object; t.kind {
		case cue.ListKind:
			return t.list.min != nil || t.list.rest.waits() || slices.ContainsFunc(t.list.prefix, shape.waits)
		case cue.StructKind:
			return len(o.rules) > 0 || o.min != nil || o.values.waits() ||
				slices.ContainsFunc(o.patterns, func(p keyPattern) bool { return p.values.waits() }) ||
				slices.ContainsFunc(o.fields, func(f field) bool { return f.required || f.conditional || f.shape.waits() })
		}
		return false
	})
}

// excludes says whether o requires a field that p can't have, or can't have with
// the same value.
func excludes(o, p *object) bool {
	return slices.ContainsFunc(o.fields, func(f field) bool {
		if !f.required {
			return false
		}
		if g := p.lookup(f.name); g != nil {
			return len(both(f.shape, g.shape)) == 0
		}
		return !p.open && p.values == nil
	})
}

// oneAlone is the predicate that a struct contradicts all members but one. It is
// unknown where two members may come to the same, or one of them is a default.
func oneAlone(s, declared shape, v string) predicate {
	for i, t := range s {
		if t.object.preferred || len(t.object.rules) > 0 {
			return unknown()
		}
		for _, u := range s[i+1:] {
			if !differ(t.object, u.object) {
				return unknown()
			}
		}
	}
	var texts []string
	for _, t := range s {
		t.object = t.object.relaxed()
		p := t.holds(declared, declared, v)
		if !p.exact || p.fallible {
			return unknown()
		}
		if p.text == "" {
			p.text = "true"
		}
		texts = append(texts, p.text)
	}
	x := variable(strings.Join(texts, " ") + v)
	return predicate{text: "[" + strings.Join(texts, ", ") + "].filter(" + x + ", " + x + ").size() == 1", exact: true}
}

// differ says whether o and p always have a field with different values.
func differ(o, p *object) bool {
	return slices.ContainsFunc(o.fields, func(f field) bool {
		g := p.lookup(f.name)
		return !f.optional && g != nil && !g.optional && len(both(f.shape, g.shape)) == 0
	})
}

// relaxed is o where nothing need be there, nor is by default: a field that is
// missing is no contradiction.
func (o *object) relaxed() *object {
	out := *o
	out.fields = slices.Clone(o.fields)
	out.min = nil
	for i := range out.fields {
		f := &out.fields[i]
		// What is required and missing isn't counted either.
		f.optional = f.optional || f.required
		f.required, f.value = false, nil
		f.shape = f.shape.relaxed()
	}
	if o.values != nil {
		out.values = o.values.relaxed()
	}
	return &out
}

// relaxed is s where nothing need be there.
func (s shape) relaxed() shape {
	out := slices.Clone(s)
	for i, t := range out {
		switch t.kind {
		case cue.StructKind:
			out[i].object = t.object.relaxed()
		case cue.ListKind:
			l := *t.list
			l.prefix, l.rest = slices.Clone(l.prefix), l.rest.relaxed()
			for j := range l.prefix {
				l.prefix[j] = l.prefix[j].relaxed()
			}
			out[i].list = &l
		}
	}
	return out
}

// outline is a struct in few words, such as {type: "tcp", port, name?}.
func (o *object) outline() string {
	var parts []string
	for _, f := range o.fields {
		text := f.name
		switch {
		case len(f.shape) == 1 && f.shape[0].value != nil:
			text += ": " + string(f.shape[0].value.json)
		case f.optional:
			text += "?"
		}
		parts = append(parts, text)
	}
	if o.open || o.values != nil {
		parts = append(parts, "...")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// outlines are the members of a choice.
func outlines(s shape) string {
	var parts []string
	for _, t := range s {
		parts = append(parts, t.object.outline())
	}
	return strings.Join(parts, " or ")
}
