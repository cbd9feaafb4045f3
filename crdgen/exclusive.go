package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// areExclusive says whether no struct contradicts all of the members but one.
// CUE rejects what contradicts fewer, unless a default decides.
func areExclusive(s shape) bool {
	for i, t := range s {
		for _, u := range s[i+1:] {
			if !excludes(t.object, u.object) || !excludes(u.object, t.object) {
				return false
			}
		}
	}
	return true
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

// relaxed is o where nothing need be there: a field that is missing is no
// contradiction.
func (o *object) relaxed() *object {
	out := *o
	out.fields = slices.Clone(o.fields)
	out.min = nil
	for i := range out.fields {
		f := &out.fields[i]
		f.required = false
		f.shape = slices.Clone(f.shape)
		for j, t := range f.shape {
			if t.kind == cue.StructKind {
				f.shape[j].object = t.object.relaxed()
			}
		}
	}
	return &out
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
