package shape

import (
	"slices"
)

// Union returns the union of shapes, without terms that other terms cover.
func Union(shapes ...Shape) Shape {
	all := slices.Concat(shapes...)
	if len(all) < 2 {
		return all
	}
	var out Shape
	for _, t := range all {
		if t.Kind == TopKind && len(t.Checks) == 0 {
			return Any()
		}
		if !slices.ContainsFunc(out, t.Equal) && !slices.ContainsFunc(all, t.CoveredBy) {
			out = append(out, t)
		}
	}
	return out
}

// Merge returns the union of shapes that describe values at different
// positions, such as the items of a tuple, or one field in the members of a
// disjunction. Structs in the result are marked as separate if none of the
// shapes is a choice itself.
func Merge(shapes ...Shape) Shape {
	out := Union(shapes...)
	chosen := slices.ContainsFunc(shapes, func(s Shape) bool { return s.choices() > 1 })
	if out.choices() < 2 && !chosen {
		return out
	}
	for i, t := range out {
		if t.Kind == StructKind {
			o := *t.Object
			o.Separate, o.Preferred, o.IsDefault = !chosen, o.Preferred || chosen, false
			out[i].Object = &o
		}
	}
	return out
}

// choices returns how many structs an instance can choose from.
func (s Shape) choices() int {
	n := 0
	for _, t := range s {
		if t.Kind == StructKind && !t.Object.Separate {
			n++
		}
	}
	return n
}

// CoveredBy reports whether u covers t, such as a range a number, or a map a
// struct. It may miss that, which costs precision only.
func (t Term) CoveredBy(u Term) bool {
	switch {
	case len(u.Checks) > 0:
		return false
	case t.Kind == StructKind && u.Kind == StructKind:
		return t.Object.coveredBy(u.Object)
	case t.Value == nil || u.Value != nil:
		return false
	}
	_, ok := t.meet(u)
	return ok
}

// coveredBy reports whether m is a map that admits every struct in o.
func (o *Object) coveredBy(m *Object) bool {
	if m.Values == nil || len(m.Fields) > 0 || m.Min != nil || m.Max != nil || len(m.Patterns) > 0 || len(m.Rules) > 0 || o.Values != nil || o.Open {
		return false
	}
	return !slices.ContainsFunc(o.Fields, func(f Field) bool { return !f.Shape.CoveredBy(m.Values) })
}

// CoveredBy reports whether every term of s is covered by a term of u.
func (s Shape) CoveredBy(u Shape) bool {
	return !slices.ContainsFunc(s, func(t Term) bool {
		return !slices.ContainsFunc(u, func(v Term) bool { return v.Kind == TopKind && len(v.Checks) == 0 || t.Equal(v) || t.CoveredBy(v) })
	})
}
