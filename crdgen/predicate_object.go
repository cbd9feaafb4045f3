package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// celField selects a field of v. It reports false for names that CEL has no
// notation for.
func celField(v, name string) (string, bool) {
	escaped, ok := apiservercel.Escape(name)
	return v + "." + escaped, ok
}

func (o *object) holds(declared *object, v string) predicate {
	all := []predicate{o.holdsRules(declared, v)}
	if o.isMap() && declared.isMap() {
		return allOf(append(all, o.holdsMap(declared, v)...)...)
	}
	if o.values != nil && !o.values.equal(declared.values) || o.open != declared.open && !o.open {
		all = append(all, unknown())
	}
	for _, g := range declared.fields {
		at, ok := celField(v, g.name)
		f := o.lookup(g.name)
		switch {
		case !ok || !isAccessible(g.shape):
			if f == nil || !f.required && !f.shape.equal(g.shape) || f.required && !g.required || !f.shape.equal(g.shape) {
				all = append(all, unknown())
			}
		case f == nil && !o.open && o.values == nil:
			all = append(all, predicate{text: "!has(" + at + ")", exact: !isNullable(g.shape)})
		case f == nil:
		default:
			present := predicate{text: "has(" + at + ")", exact: true}
			p, nullable := holdsUnlessNull(f.shape, g.shape, at), isNullable(g.shape)
			switch {
			case nullable && f.required && !isNullable(f.shape):
				p = allOf(present, p)
			case nullable:
				// CEL takes null for absent.
				p = implies(present.text, p)
				p.exact = p.exact && isNullable(f.shape) && (!f.required || g.required)
			case f.required && g.required:
			case f.required:
				p = allOf(present, p)
			default:
				p = implies(present.text, p)
			}
			all = append(all, p)
		}
	}
	all = append(all, o.holdsCount(declared, v))
	return allOf(all...)
}

// isMap says whether the schema writes o as a map, which CEL sees as one.
func (o *object) isMap() bool {
	return o.values != nil && len(o.fields) == 0 && !o.open && !o.values.equal(anything())
}

func (o *object) holdsMap(declared *object, v string) []predicate {
	var all []predicate
	count := func(n *int64, operator string, known *int64) {
		if n != nil && (known == nil || *known != *n) {
			all = append(all, predicate{text: "size(" + v + ")" + operator + itoa(*n), exact: true})
		}
	}
	count(o.min, " >= ", declared.min)
	count(o.max, " <= ", declared.max)
	x := variable(v)
	value := holds(o.values, declared.values, v+"["+x+"]")
	p := allOf(append(o.keyed(declared, v, x), value)...)
	if p.text != "" {
		p.text = v + ".all(" + x + ", " + p.text + ")"
	}
	return append(all, p)
}

// keyed says which keys of a map there can be and what values they take.
func (o *object) keyed(declared *object, v, x string) []predicate {
	if slices.EqualFunc(o.patterns, declared.patterns, keyPattern.equal) && o.keysClosed == declared.keysClosed {
		// The schema can't say any of it, so it is said here or for the map.
		return nil
	}
	return o.keys(v, x)
}

// keys is what o demands of the key x of the map v.
func (o *object) keys(v, x string) []predicate {
	var all, named []predicate
	for _, p := range o.patterns {
		if len(p.key) == 0 {
			return append(all, unknown())
		}
		matches := holds(p.key, ofKinds(cue.StringKind), x)
		if !matches.exact || matches.fallible {
			all = append(all, unknown())
			named = append(named, unknown())
			continue
		}
		named = append(named, matches)
		if !p.values.equal(o.values) {
			all = append(all, implies(matches.text, holds(p.values, o.values, v+"["+x+"]")))
		}
	}
	if o.keysClosed {
		all = append(all, anyOf(named...))
	}
	return all
}

// holdsCount bounds the number of fields. What rendering fills in counts, too.
func (o *object) holdsCount(declared *object, v string) predicate {
	if o.min == nil && o.max == nil {
		return always()
	}
	if o.open || o.values != nil || o.unread {
		return unknown()
	}
	filled := 0
	var present []string
	for _, f := range declared.fields {
		at, ok := celField(v, f.name)
		switch g := o.lookup(f.name); {
		case g == nil:
		case g.conditional || g.filled:
			return unknown()
		case !g.optional:
			filled++
		case !ok || !isAccessible(f.shape):
			return unknown()
		default:
			present = append(present, "has("+at+")")
		}
	}
	x := variable(v)
	size := "[" + strings.Join(present, ", ") + "].filter(" + x + ", " + x + ").size()"
	if len(present) == 0 {
		size = "0"
	}
	var all []predicate
	if o.min != nil {
		all = append(all, predicate{text: size + " >= " + itoa(*o.min-int64(filled)), exact: true})
	}
	if o.max != nil {
		all = append(all, predicate{text: size + " <= " + itoa(*o.max-int64(filled)), exact: true})
	}
	return allOf(all...)
}

// reads says whether CEL reads o's field of that name where a struct is declared
// as declared.
func (o *object) reads(name string, declared *object) bool {
	f, g := o.lookup(name), declared.lookup(name)
	if f == nil || g == nil || !isAccessible(g.shape) {
		return false
	}
	return f.shape.equal(g.shape) || !isMixed(kindsOf(g.shape)) && kindsOf(f.shape) == kindsOf(g.shape) && kindsOf(g.shape)&(cue.ListKind|cue.StructKind) == 0
}

// holdsRules is what o's own rules say about v.
func (o *object) holdsRules(declared *object, v string) predicate {
	var all []predicate
	for _, r := range o.rules {
		if slices.ContainsFunc(r.fields, func(name string) bool { return !o.reads(name, declared) }) {
			all = append(all, unknown())
			continue
		}
		all = append(all, predicate{text: r.on(v), exact: r.exact && !r.defaulted})
	}
	return allOf(all...)
}
