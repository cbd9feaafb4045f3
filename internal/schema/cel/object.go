package cel

import (
	"slices"

	"github.com/pequod-io/pequod/internal/schema/shape"

	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Field returns the CEL expression for the field of v called name. It reports
// false for names that CEL can't select. CEL's reserved words are escaped: the
// field namespace of self is self.__namespace__.
func Field(v, name string) (string, bool) {
	escaped, ok := apiservercel.Escape(name)
	return v + "." + escaped, ok
}

// holdsObject returns the predicate that v is in o, field by field. It compares
// each declared field with the same field of o. A field may be required,
// forbidden, or narrower than declared. A field that is the same in both needs no
// predicate.
func holdsObject(o *shape.Object, declared *shape.Object, v string) Predicate {
	all := []Predicate{holdsRules(o, declared, v)}
	if o.IsMap() && declared.IsMap() {
		return AllOf(append(all, holdsMap(o, declared, v)...)...)
	}
	// CEL can't iterate over the fields of a struct with declared fields.
	if o.Values != nil && !o.Values.Equal(declared.Values) || o.Open != declared.Open && !o.Open {
		all = append(all, Unknown())
	}
	for _, g := range declared.Fields {
		at, ok := Field(v, g.Name)
		f := o.Lookup(g.Name)
		switch {
		case !ok || !IsAccessible(g.Shape):
			if f == nil || !f.Required && !f.Shape.Equal(g.Shape) || f.Required && !g.Required || !f.Shape.Equal(g.Shape) {
				all = append(all, Unknown())
			}
		// o doesn't have the field, so an instance in o must leave it out.
		case f == nil && !o.Open && o.Values == nil:
			all = append(all, Predicate{Text: "!has(" + at + ")", Exact: !shape.IsNullable(g.Shape)})
		case f == nil:
		default:
			present := Predicate{Text: "has(" + at + ")", Exact: true}
			p, nullable := HoldsUnlessNull(f.Shape, g.Shape, at), shape.IsNullable(g.Shape)
			switch {
			case nullable && f.Required && !shape.IsNullable(f.Shape):
				p = AllOf(present, p)
			case nullable:
				// has() is false for null.
				p = Implies(present.Text, p)
				p.Exact = p.Exact && shape.IsNullable(f.Shape) && (!f.Required || g.Required)
			case f.Required && g.Required:
			case f.Required:
				p = AllOf(present, p)
			default:
				p = Implies(present.Text, p)
			}
			all = append(all, p)
		}
	}
	// CEL sees declared fields only.
	if slices.ContainsFunc(o.Fields, func(f shape.Field) bool {
		return declared.Lookup(f.Name) == nil && (f.Required || !f.Shape.IsAnything())
	}) {
		all = append(all, Unknown())
	}
	all = append(all, HoldsCount(o, declared, v))
	return AllOf(all...)
}

// holdsMap returns the predicates for a map: the number of keys, then the keys
// and values. The bounds come first because they cost less than the loop over the
// keys.
func holdsMap(o *shape.Object, declared *shape.Object, v string) []Predicate {
	all := sizeDemands(v, o.Min, o.Max, declared.Min, declared.Max)
	x := Variable(v)
	value := Holds(o.Values, declared.Values, v+"["+x+"]")
	demands := []Predicate{value}
	// No schema expresses patterns. They are written once, for the map or here.
	if !slices.EqualFunc(o.Patterns, declared.Patterns, shape.KeyPattern.Equal) || o.KeysClosed != declared.KeysClosed {
		demands = append(HoldsKeys(o, v, x), value)
	}
	p := AllOf(demands...)
	if p.Text != "" {
		p.Text = v + ".all(" + x + ", " + p.Text + ")"
	}
	return append(all, p)
}

// HoldsKeys returns the predicates that o's patterns demand of the key x of the
// map v and of its value. If the keys are closed, each must match one of the
// patterns.
func HoldsKeys(o *shape.Object, v, x string) []Predicate {
	var all, named []Predicate
	for _, p := range o.Patterns {
		if len(p.Key) == 0 {
			return append(all, Unknown())
		}
		matches := Holds(p.Key, shape.OfKinds(shape.StringKind), x)
		if !matches.Exact || matches.fallible {
			all = append(all, Unknown())
			named = append(named, Unknown())
			continue
		}
		named = append(named, matches)
		if !p.Values.Equal(o.Values) {
			all = append(all, Implies(matches.Text, Holds(p.Values, o.Values, v+"["+x+"]")))
		}
	}
	if o.KeysClosed {
		all = append(all, AnyOf(named...))
	}
	return all
}

// HoldsCount returns the predicate that v has as many fields as o admits. Fields
// that rendering supplies count although the instance doesn't have them. The
// number of present fields is the size of a list of has() tests, filtered for
// true. Fields that aren't optional are in every rendered struct, so they are
// counted when the rule is written.
func HoldsCount(o *shape.Object, declared *shape.Object, v string) Predicate {
	if o.Min == nil && o.Max == nil {
		return Always()
	}
	if o.Open || o.Values != nil || o.Unlisted {
		return Unknown()
	}
	filled := 0
	var present []string
	for _, f := range declared.Fields {
		at, ok := Field(v, f.Name)
		switch g := o.Lookup(f.Name); {
		case g == nil:
		case g.Guarded || g.GuardFills:
			return Unknown()
		case !g.Optional:
			filled++
		case !ok || !IsAccessible(f.Shape):
			return Unknown()
		default:
			present = append(present, "has("+at+")")
		}
	}
	size := countTrue(present, Variable(v))
	var all []Predicate
	if o.Min != nil {
		all = append(all, Predicate{Text: size + " >= " + Itoa(*o.Min-int64(filled)), Exact: true})
	}
	if o.Max != nil {
		all = append(all, Predicate{Text: size + " <= " + Itoa(*o.Max-int64(filled)), Exact: true})
	}
	return AllOf(all...)
}

// readable reports whether CEL reads o's field called name in the same way if the
// struct is declared as declared. CEL reads a field in the same way if its
// declared type is that of o; a field that may have several types has none for
// CEL.
func readable(o *shape.Object, name string, declared *shape.Object) bool {
	f, g := o.Lookup(name), declared.Lookup(name)
	if f == nil || g == nil || !IsAccessible(g.Shape) {
		return false
	}
	return f.Shape.Equal(g.Shape) || !shape.IsMixed(shape.KindsOf(g.Shape)) && shape.KindsOf(f.Shape) == shape.KindsOf(g.Shape) && shape.KindsOf(g.Shape)&(shape.ListKind|shape.StructKind) == 0
}

// holdsRules returns the predicate that v obeys o's own rules. A rule about
// fields that CEL can't read in a struct declared as declared is [Unknown].
func holdsRules(o *shape.Object, declared *shape.Object, v string) Predicate {
	var all []Predicate
	for _, r := range o.Rules {
		if slices.ContainsFunc(r.Fields, func(name string) bool { return !readable(o, name, declared) }) {
			all = append(all, Unknown())
			continue
		}
		all = append(all, Predicate{Text: r.For(v), Exact: r.Exact && !r.Defaulted})
	}
	return AllOf(all...)
}
