package shape

import (
	"slices"
)

// Intersect returns the intersection of two shapes, or a superset of it if no
// term can express the intersection.
func Intersect(a, b Shape) Shape {
	switch {
	case a.IsAnything():
		return Union(b)
	case b.IsAnything():
		return Union(a)
	}
	var out Shape
	for _, x := range a {
		for _, y := range b {
			if t, ok := x.meet(y); ok {
				out = append(out, t)
			}
		}
	}
	return Union(out)
}

// meet returns the intersection of two terms. It reports false if no value is
// in both.
func (t Term) meet(u Term) (Term, bool) {
	checks := append(slices.Clone(t.Checks), u.Checks...)
	switch {
	case t.Kind == TopKind:
		u.Checks = checks
		return u, true
	case u.Kind == TopKind:
		t.Checks = checks
		return t, true
	case t.Kind == NumberKind && u.Kind == IntKind:
		t.Kind = IntKind
	case t.Kind == IntKind && u.Kind == NumberKind:
	case t.Kind != u.Kind:
		return Term{}, false
	}
	switch {
	case t.Value != nil && u.Value != nil && !t.Value.equal(*u.Value):
		return Term{}, false
	case t.Value == nil:
		t.Value = u.Value
	}
	ok := true
	t.Checks = checks
	switch t.Kind {
	case IntKind, NumberKind:
		t.Numbers, ok = t.Numbers.meet(u.Numbers)
	case StringKind:
		t.Strings = t.Strings.meet(u.Strings)
	case ListKind:
		l := t.List.meet(u.List)
		t.List = &l
	case StructKind:
		o := t.Object.meet(u.Object)
		t.Object = &o
	}
	if t.Value != nil {
		ok = ok && t.Numbers.Admits(*t.Value) && t.Strings.admits(*t.Value)
		if t.Kind == IntKind && t.Value.Number != nil && !t.Value.Number.IsInt() {
			return Term{}, false
		}
		// The literal was compared with both constraints; nothing remains of
		// them.
		t.Numbers, t.Strings = Numbers{}, Strings{}
	}
	return t, ok
}

// meet returns the intersection of two lists, index by index.
func (l *List) meet(m *List) List {
	out := List{Min: larger(l.Min, m.Min), Max: smaller(l.Max, m.Max), Closed: l.Closed || m.Closed, Unique: l.Unique || m.Unique}
	at := func(l *List, i int) Shape {
		if i < len(l.Prefix) {
			return l.Prefix[i]
		}
		return l.Rest
	}
	for i := range max(len(l.Prefix), len(m.Prefix)) {
		out.Prefix = append(out.Prefix, Intersect(at(l, i), at(m, i)))
	}
	if !out.Closed {
		out.Rest = Intersect(l.Rest, m.Rest)
	}
	return out
}

// meet returns an object that admits the fields of both. Fields that only one
// of them lists stay allowed: they are an error if a closed struct was unified
// with the other one, and allowed if it was embedded, and the difference isn't
// known here.
func (o *Object) meet(p *Object) Object {
	out := Object{Open: o.Open && p.Open, Min: larger(o.Min, p.Min), Max: smaller(o.Max, p.Max), KeysClosed: o.KeysClosed || p.KeysClosed}
	out.Patterns = append(slices.Clone(o.Patterns), p.Patterns...)
	out.Rules = append(slices.Clone(o.Rules), p.Rules...)
	out.Unlisted = o.Unlisted || p.Unlisted
	out.Preferred, out.IsDefault = o.Preferred || p.Preferred, o.IsDefault && !p.Preferred || p.IsDefault && !o.Preferred
	switch {
	case o.Values == nil:
		out.Values = p.Values
	case p.Values == nil:
		out.Values = o.Values
	default:
		out.Values = Intersect(o.Values, p.Values)
	}
	out.Fields = slices.Clone(o.Fields)
	for _, f := range p.Fields {
		i, found := slices.BinarySearchFunc(out.Fields, f.Name, ByName)
		if !found {
			out.Fields = slices.Insert(out.Fields, i, f)
			continue
		}
		g := &out.Fields[i]
		g.Shape = Intersect(g.Shape, f.Shape)
		g.Required = g.Required || f.Required
		g.Optional = g.Optional && f.Optional
		if string(g.Default) != string(f.Default) {
			g.Default = nil
		}
		if g.Description == "" {
			g.Description = f.Description
		}
		if g.Attributes == nil {
			g.Attributes = f.Attributes
		}
	}
	return out
}
