package cel

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/shape"

	apiservercel "k8s.io/apiserver/pkg/cel"
)

// celField selects a field of v. It reports false for names that CEL has no
// notation for.
func Field(v, name string) (string, bool) {
	escaped, ok := apiservercel.Escape(name)
	return v + "." + escaped, ok
}

func holdsObject(o *shape.Object, declared *shape.Object, v string) Predicate {
	all := []Predicate{holdsRules(o, declared, v)}
	if o.IsMap() && declared.IsMap() {
		return AllOf(append(all, holdsMap(o, declared, v)...)...)
	}
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
				// CEL takes null for absent.
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
	all = append(all, HoldsCount(o, declared, v))
	return AllOf(all...)
}

func holdsMap(o *shape.Object, declared *shape.Object, v string) []Predicate {
	var all []Predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, Predicate{Text: "size(" + v + ")" + operator + Itoa(*n), Exact: true})
		}
	}
	count(o.Min, " >= ", declared.Min)
	count(o.Max, " <= ", declared.Max)
	x := Variable(v)
	value := Holds(o.Values, declared.Values, v+"["+x+"]")
	p := AllOf(append(keyDemands(o, declared, v, x), value)...)
	if p.Text != "" {
		p.Text = v + ".all(" + x + ", " + p.Text + ")"
	}
	return append(all, p)
}

// keyed says which keys of a map there can be and what values they take.
func keyDemands(o *shape.Object, declared *shape.Object, v, x string) []Predicate {
	if slices.EqualFunc(o.Patterns, declared.Patterns, shape.KeyPattern.Equal) && o.KeysClosed == declared.KeysClosed {
		// The schema can't say any of it, so it is said here or for the map.
		return nil
	}
	return HoldsKeys(o, v, x)
}

// keys is what o demands of the key x of the map v.
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

// holdsCount bounds the number of fields. What rendering fills in counts, too.
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
	x := Variable(v)
	size := "[" + strings.Join(present, ", ") + "].filter(" + x + ", " + x + ").size()"
	if len(present) == 0 {
		size = "0"
	}
	var all []Predicate
	if o.Min != nil {
		all = append(all, Predicate{Text: size + " >= " + Itoa(*o.Min-int64(filled)), Exact: true})
	}
	if o.Max != nil {
		all = append(all, Predicate{Text: size + " <= " + Itoa(*o.Max-int64(filled)), Exact: true})
	}
	return AllOf(all...)
}

// reads says whether CEL reads o's field of that name where a struct is declared
// as declared.
func readable(o *shape.Object, name string, declared *shape.Object) bool {
	f, g := o.Lookup(name), declared.Lookup(name)
	if f == nil || g == nil || !IsAccessible(g.Shape) {
		return false
	}
	return f.Shape.Equal(g.Shape) || !shape.IsMixed(shape.KindsOf(g.Shape)) && shape.KindsOf(f.Shape) == shape.KindsOf(g.Shape) && shape.KindsOf(g.Shape)&(shape.ListKind|shape.StructKind) == 0
}

// holdsRules is what o's own rules say about v.
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
