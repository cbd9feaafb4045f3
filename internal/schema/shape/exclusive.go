package shape

import (
	"slices"
)

// AreExclusive reports whether a value of one member of s, which must hold
// structs only, contradicts all other members. Where it doesn't, CUE finds the
// value ambiguous and rejects it, unless a default decides. Even a value of the
// default member may fit other members.
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

// decides reports whether o is the default of a choice and leaves nothing to
// choose between o and p: a value in o means o, and a value outside of o
// contradicts it.
func decides(o, p *Object) bool {
	return o.IsDefault && (excludes(p, o) || !(Shape{{Kind: StructKind, Object: o}}).mayBeIncomplete())
}

// mayBeIncomplete reports whether CUE may find a value incomplete, rather than
// contradictory, when it unifies it with s. An incomplete value does not rule a
// member of a disjunction out.
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

// excludes reports whether o requires a field that p doesn't have, or that p
// has only with other values.
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

// Differ reports whether o and p both always have a certain field, with
// different values.
func Differ(o, p *Object) bool {
	return slices.ContainsFunc(o.Fields, func(f Field) bool {
		g := p.Lookup(f.Name)
		return !f.Optional && g != nil && !g.Optional && len(Intersect(f.Shape, g.Shape)) == 0
	})
}

// Relaxed returns o without required fields and defaults. A missing field
// contradicts nothing, so a value is compared with this object to see whether
// it contradicts o.
func (o *Object) Relaxed() *Object {
	out := *o
	out.Fields = slices.Clone(o.Fields)
	out.Min = nil
	for i := range out.Fields {
		f := &out.Fields[i]
		// A field that is required and missing doesn't count either.
		f.Optional = f.Optional || f.Required
		f.Required, f.Default = false, nil
		f.Shape = f.Shape.Relaxed()
	}
	if o.Values != nil {
		out.Values = o.Values.Relaxed()
	}
	return &out
}

// Relaxed returns s with every struct in it relaxed.
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

// HasRequired reports whether a struct in s has a field that must be given.
func (s Shape) HasRequired() bool {
	return slices.ContainsFunc(s, func(t Term) bool {
		return t.Kind == StructKind && slices.ContainsFunc(t.Object.Fields, func(f Field) bool {
			return f.Required || !f.Optional && f.Shape.HasRequired()
		})
	})
}
