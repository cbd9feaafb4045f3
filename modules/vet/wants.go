package vet

import (
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// want is a requirement on the input: a value at a path, any value, or no value.
// Wants come from guards. Examples, with the value of exact and present:
//
//	spec.tier == "a"       {path: spec.tier, value: "a", exact}
//	spec.tls != _|_        {path: spec.tls, value: an example, exact, present}
//	spec.tls == _|_        {path: spec.tls, value: nil, exact}
//	spec.replicas > 3      {path: spec.replicas, value: 4}
type want struct {
	// path leads from the input to the value.
	path []element
	// value is a literal, or _ for any value, or nil if there must be no value.
	value ast.Expr
	// present means that any value satisfies the want, and value is an example.
	// exact means that no other value does; together with present it means that an
	// absent value does not.
	exact, present bool
}

// element is an element of a path: a field, or an item. For an item of a map, field
// is its key; for an item of a list, field is empty.
type element struct {
	field string
	item  bool
}

// listItem is the element that leads to the items of a list.
var listItem = element{item: true}

// choice is a list of wants that together make a guard hold. A guard has several
// choices if it is a disjunction: a || b holds if the wants of a or those of b
// are satisfied.
type choice []want

// maxChoices limits the number of choices for one guard, because nested guards
// multiply them. Choices beyond the limit are dropped, so that a sample may be
// missing. They never cause a false problem; see enter.
const maxChoices = 16

// combine returns the choices that satisfy one choice of a and one of b.
func combine(a, b []choice) []choice {
	var all []choice
	for _, x := range a {
		for _, y := range b {
			if len(all) == maxChoices {
				return all
			}
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// noWants is a single choice without wants: any input will do, or the guard is not
// understood.
var noWants = []choice{{}}

// contradicts reports whether no input can satisfy all wants of the choice.
func (c choice) contradicts() bool {
	for i, a := range c {
		for _, b := range c[:i] {
			if a.excludes(b) || b.excludes(a) {
				return true
			}
		}
	}
	return false
}

// excludes reports whether no input can satisfy both wants. It compares only exact
// wants, and no wants on items, because another item may satisfy the other want.
func (w want) excludes(other want) bool {
	if !w.exact || !other.exact || len(w.path) > len(other.path) || !slices.Equal(w.path, other.path[:len(w.path)]) {
		return false
	}
	switch {
	case slices.ContainsFunc(w.path, func(s element) bool { return s.item }):
		return false // another item may satisfy the other want
	case w.value == nil:
		return other.value != nil
	case len(w.path) < len(other.path) || other.value == nil || w.present || other.present:
		return false
	}
	return !isTrue(w.value, token.EQL, other.value)
}
