package compat

import (
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// junctors compares allOf, anyOf, oneOf and not. It compares texts: it doesn't
// try to find out whether one combination implies another. For allOf the new list
// must be a subset, since each member is a demand. For anyOf it must be a
// superset, since each member is a possibility. oneOf and not must be equal. A
// member that every old object satisfies or fails, because it is about a new
// field, is left out.
func (c *checker) junctors(path string, old, new *props) {
	absent := absentFields(old, new)
	demands := slices.DeleteFunc(slices.Clone(new.AllOf), absent.holds)
	if !subset(demands, old.AllOf) {
		c.breaking(path, RuleValidation, "must satisfy more conditions (allOf)")
	}
	if len(new.AnyOf) > 0 && (len(old.AnyOf) == 0 || !subset(old.AnyOf, new.AnyOf)) && !slices.ContainsFunc(new.AnyOf, absent.holds) {
		c.breaking(path, RuleValidation, "must satisfy other alternatives (anyOf)")
	}
	choices := slices.DeleteFunc(slices.Clone(new.OneOf), absent.fails)
	if len(new.OneOf) > 0 && (len(choices) != len(old.OneOf) || !subset(choices, old.OneOf) || !subset(old.OneOf, choices)) {
		c.breaking(path, RuleValidation, "must satisfy other alternatives (oneOf)")
	}
	if new.Not != nil && !equal(old.Not, new.Not) && !absent.fails(*new.Not) {
		c.breaking(path, RuleValidation, "must not satisfy another condition (not)")
	}
}

// absentFields returns the fields that only the new schema names, if the API
// server pruned them from old objects and no default adds them.
func absentFields(old, new *props) absence {
	return func(field string) bool {
		p, is := new.Properties[field]
		_, was := old.Properties[field]
		return is && !was && p.Default == nil && additional(old) == nil && !keepsUnknown(old)
	}
}

// holds reports whether every old object satisfies s. A false result is no proof
// that one doesn't.
func (a absence) holds(s props) bool {
	rest := s
	rest.AllOf, rest.AnyOf, rest.Not, rest.Properties = nil, nil, nil, nil
	for field := range s.Properties {
		if !a(field) {
			return false
		}
	}
	return equal(rest, props{}) &&
		!slices.ContainsFunc(s.AllOf, func(m props) bool { return !a.holds(m) }) &&
		(len(s.AnyOf) == 0 || slices.ContainsFunc(s.AnyOf, a.holds)) &&
		(s.Not == nil || a.fails(*s.Not))
}

// fails reports whether no old object satisfies s. A false result is no proof
// that one does.
func (a absence) fails(s props) bool {
	return slices.ContainsFunc(s.Required, a) || slices.ContainsFunc(s.AllOf, a.fails) ||
		len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, func(m props) bool { return !a.fails(m) }) ||
		s.Not != nil && a.holds(*s.Not)
}

// subset reports whether every schema in a is also in b.
func subset(a, b []props) bool {
	return !slices.ContainsFunc(a, func(x props) bool {
		return !slices.ContainsFunc(b, func(y props) bool { return equal(x, y) })
	})
}

// validations compares CEL rules. A rule is new unless old rules demand as much,
// see [demanded].
func (c *checker) validations(path string, old, new *props) {
	absent := absentFields(old, new)
	for i, r := range new.XValidations {
		if !demanded(old.XValidations, r, absent) {
			c.under([]string{"x-kubernetes-validations", strconv.Itoa(i)}, func() {
				c.breaking(path, RuleValidation, "new rule: %s", ruleText(r))
			})
		}
	}
	for _, r := range old.XValidations {
		if !slices.ContainsFunc(new.XValidations, func(n apiextensionsv1.ValidationRule) bool { return n.Rule == r.Rule }) {
			c.safe(path, RuleValidation, "rule is gone: %s", ruleText(r))
		}
	}
}
