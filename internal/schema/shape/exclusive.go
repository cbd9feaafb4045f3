package shape

import (
	"slices"
)

// areExclusive says whether what is in one of the members contradicts all of the
// others. CUE rejects what contradicts fewer, unless a default decides: what is in
// the default may fit others, too.
func AreExclusive(s Shape) bool {
	for i, t := range s {
		for _, u := range s[i+1:] {
			if !decides(t.Object, u.Object) && !decides(u.Object, t.Object) && !(excludes(t.Object, u.Object) && excludes(u.Object, t.Object)) {
				return false
			}
		}
	}
	return true
}

// decides says whether o is the default and nothing is left to choose between o and
// p: what is in o is meant to be, and what isn't contradicts o.
func decides(o, p *Object) bool {
	return o.IsDefault && (excludes(p, o) || !(Shape{{Kind: StructKind, Object: o}}).mayBeIncomplete())
}

// waits says whether a value may be incomplete, which is not to contradict s.
func (s Shape) mayBeIncomplete() bool {
	return slices.ContainsFunc(s, func(t Term) bool {
		if len(t.Checks) > 0 {
			return true
		}
		switch o := t.Object; t.Kind {
		case ListKind:
			return t.List.Min != nil || t.List.Rest.mayBeIncomplete() || slices.ContainsFunc(t.List.Prefix, Shape.mayBeIncomplete)
		case StructKind:
			return len(o.Rules) > 0 || o.Min != nil || o.Values.mayBeIncomplete() ||
				slices.ContainsFunc(o.Patterns, func(p KeyPattern) bool { return p.Values.mayBeIncomplete() }) ||
				slices.ContainsFunc(o.Fields, func(f Field) bool { return f.Required || f.Guarded || f.Shape.mayBeIncomplete() })
		}
		return false
	})
}

// excludes says whether o requires a field that p can't have, or can't have with
// the same value.
func excludes(o, p *Object) bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool {
		if !f.Required {
			return false
		}
		if g := p.Lookup(f.Name); g != nil {
			return len(Intersect(f.Shape, g.Shape)) == 0
		}
		return !p.Open && p.Values == nil
	})
}

// differ says whether o and p always have a field with different values.
func Differ(o, p *Object) bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool {
		g := p.Lookup(f.Name)
		return !f.Optional && g != nil && !g.Optional && len(Intersect(f.Shape, g.Shape)) == 0
	})
}

// relaxed is o where nothing need be there, nor is by default: a field that is
// missing is no contradiction.
func (o *Object) Relaxed() *Object {
	out := *o
	out.Fields = slices.Clone(o.Fields)
	out.Min = nil
	for i := range out.Fields {
		f := &out.Fields[i]
		// What is required and missing isn't counted either.
		f.Optional = f.Optional || f.Required
		f.Required, f.Default = false, nil
		f.Shape = f.Shape.Relaxed()
	}
	if o.Values != nil {
		out.Values = o.Values.Relaxed()
	}
	return &out
}

// relaxed is s where nothing need be there.
func (s Shape) Relaxed() Shape {
	out := slices.Clone(s)
	for i, t := range out {
		switch t.Kind {
		case StructKind:
			out[i].Object = t.Object.Relaxed()
		case ListKind:
			l := *t.List
			l.Prefix, l.Rest = slices.Clone(l.Prefix), l.Rest.Relaxed()
			for j := range l.Prefix {
				l.Prefix[j] = l.Prefix[j].Relaxed()
			}
			out[i].List = &l
		}
	}
	return out
}

// demands says whether a struct in s has a field that must be given.
func (s Shape) HasRequired() bool {
	return slices.ContainsFunc(s, func(t Term) bool {
		return t.Kind == StructKind && slices.ContainsFunc(t.Object.Fields, func(f Field) bool {
			return f.Required || !f.Optional && f.Shape.HasRequired()
		})
	})
}
