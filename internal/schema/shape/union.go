package shape

import (
	"slices"
)

// either is the union of shapes, without terms that others cover.
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

// merge is the union of shapes that are for different places, such as the items of
// a tuple or a field in the members of a union.
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

// choices is how many structs there are to choose from.
func (s Shape) choices() int {
	n := 0
	for _, t := range s {
		if t.Kind == StructKind && !t.Object.Separate {
			n++
		}
	}
	return n
}

// within says whether u covers t: a literal in a range, or a struct in a map.
// It may miss that, which costs no more than precision.
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

func (o *Object) coveredBy(m *Object) bool {
	if m.Values == nil || len(m.Fields) > 0 || m.Min != nil || m.Max != nil || len(m.Patterns) > 0 || len(m.Rules) > 0 || o.Values != nil || o.Open {
		return false
	}
	return !slices.ContainsFunc(o.Fields, func(f Field) bool { return !f.Shape.CoveredBy(m.Values) })
}

func (s Shape) CoveredBy(u Shape) bool {
	return !slices.ContainsFunc(s, func(t Term) bool {
		return !slices.ContainsFunc(u, func(v Term) bool { return v.Kind == TopKind && len(v.Checks) == 0 || t.Equal(v) || t.CoveredBy(v) })
	})
}
