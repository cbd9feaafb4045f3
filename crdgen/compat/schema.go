package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// props is one OpenAPI schema.
type props = apiextensionsv1.JSONSchemaProps

// schema compares two schemas of one value: whether the new one accepts every
// value that the old one accepts. path is the field for messages, and c.at the
// position in the new definition.
func (c *checker) schema(path string, old, new *props) {
	// The rules of this schema watch the values in it, and no others.
	was := c.watchers
	defer func() { c.watchers = was }()
	c.watchers = append(slices.Clone(was), watchers(new, len(c.at))...)
	if !c.types(path, old, new) {
		return // what follows would only repeat it
	}
	c.enum(path, old, new)
	c.numbers(path, old, new)
	c.strings(path, old, new)
	c.list(path, old, new)
	c.object(path, old, new)
	c.junctors(path, old, new)
	c.validations(path, old, new)
	c.defaults(path, old, new)
}

// types compares types and nullability. It reports false if comparing further
// would only repeat the finding. An integer is a number, and both an integer and
// a string are of the type integer or string. A schema without a type
// admits all. Every other change of the type is breaking.
func (c *checker) types(path string, old, new *props) bool {
	ot, nt := typeName(old), typeName(new)
	switch {
	case ot == nt:
	case nt == anyType:
		c.safe(path, RuleType, "%s → %s", ot, nt)
	case ot == "integer" && (nt == "number" || nt == intOrString), ot == "string" && nt == intOrString:
		c.safe(path, RuleType, "%s → %s", ot, nt)
	default:
		c.breaking(path, RuleType, "%s → %s", ot, nt)
		return false
	}
	if old.Nullable != new.Nullable && nt != anyType {
		switch {
		case old.Nullable:
			c.breaking(path, RuleType, "null is no longer allowed")
		case strings.HasSuffix(path, "[]"):
			c.unlessWatched(path, "", RuleType, "null is allowed")
		default:
			// In an object the API server drops a null that isn't allowed,
			// rather than refuse the object, so that a default or nothing
			// takes its place.
			c.breaking(path, RuleType, "null is kept, and no longer dropped")
		}
	}
	if new.XEmbeddedResource && !old.XEmbeddedResource {
		c.breaking(path, RuleType, "must be a Kubernetes object")
	}
	return true
}

const (
	// The types that have no name in OpenAPI.
	anyType     = "any"
	intOrString = "integer or string"
)

// typeName returns the name of a schema's type for messages. The names appear in
// messages such as "integer → any".
func typeName(s *props) string {
	switch {
	case s.XIntOrString:
		return intOrString
	case s.Type == "":
		return anyType
	}
	return s.Type
}

// enum compares enumerations value by value. Values are compared as compact JSON.
func (c *checker) enum(path string, old, new *props) {
	values := func(list []apiextensionsv1.JSON) []string {
		var all []string
		for _, v := range list {
			all = append(all, compact(v.Raw))
		}
		return all
	}
	o, n := values(old.Enum), values(new.Enum)
	switch {
	case len(o) == 0 && len(n) == 0:
	case len(n) == 0:
		c.safe(path, RuleEnum, "any value is allowed, not only %s", strings.Join(o, ", "))
	case len(o) == 0:
		c.breaking(path, RuleEnum, "only %s allowed", strings.Join(n, ", "))
	default:
		c.set(path, RuleEnum, "value", o, n)
	}
}

// The directions in which a bound admits more.
const (
	lower = -1 // a minimum, such as minLength
	upper = 1  // a maximum
)

// bound compares two bounds; nil means no bound. direction is [lower] or [upper].
func bound[T int64 | float64](c *checker, path string, direction int, what string, old, new *T) {
	switch {
	case old == nil && new == nil:
	case new == nil:
		c.safe(path, RuleBound, "%s %v is gone", what, *old)
	case old == nil:
		c.breaking(path, RuleBound, "%s %v is new", what, *new)
	case *old == *new:
	case cmp.Compare(*new, *old) == direction:
		c.safe(path, RuleBound, "%s %v → %v", what, *old, *new)
	default:
		c.breaking(path, RuleBound, "%s %v → %v", what, *old, *new)
	}
}

// boundName returns the name of a bound. If the bound is new or gone, the name
// tells whether it is exclusive.
func boundName(what string, old *float64, oldExclusive bool, new *float64, newExclusive bool) string {
	if old == nil && newExclusive || new == nil && oldExclusive {
		return "exclusive " + what
	}
	return what
}

// numbers compares the constraints on numbers. For minimum 1, exclusive, and then
// minimum 1, inclusive, the change is safe: the value 1 itself is allowed.
func (c *checker) numbers(path string, old, new *props) {
	bound(c, path, lower, boundName("minimum", old.Minimum, old.ExclusiveMinimum, new.Minimum, new.ExclusiveMinimum), old.Minimum, new.Minimum)
	bound(c, path, upper, boundName("maximum", old.Maximum, old.ExclusiveMaximum, new.Maximum, new.ExclusiveMaximum), old.Maximum, new.Maximum)
	for _, e := range []struct {
		what     string
		old, new bool
		// Bounds that moved were compared above as if both were inclusive.
		ob, nb *float64
	}{
		{"minimum", old.ExclusiveMinimum, new.ExclusiveMinimum, old.Minimum, new.Minimum},
		{"maximum", old.ExclusiveMaximum, new.ExclusiveMaximum, old.Maximum, new.Maximum},
	} {
		if e.old == e.new || e.nb == nil {
			continue
		}
		if !e.new {
			c.safe(path, RuleBound, "%s %v itself is allowed", e.what, *e.nb)
			continue
		}
		// A bound that is new or moved inwards was reported; one that moved
		// outwards leaves the old one's value inside.
		if e.ob == nil || *e.ob != *e.nb {
			continue
		}
		c.breaking(path, RuleBound, "%s %v itself is no longer allowed", e.what, *e.nb)
	}
	switch o, n := old.MultipleOf, new.MultipleOf; {
	case n == nil && o != nil:
		c.safe(path, RuleBound, "need not be a multiple of %v", *o)
	case n != nil && (o == nil || *o != *n):
		c.breaking(path, RuleBound, "must be a multiple of %v", *n)
	}
}

// strings compares the constraints on strings. Patterns and formats are compared
// as text: whether one pattern implies another is not decided.
func (c *checker) strings(path string, old, new *props) {
	bound(c, path, lower, "minLength", positive(old.MinLength), positive(new.MinLength))
	bound(c, path, upper, "maxLength", old.MaxLength, new.MaxLength)
	switch {
	case old.Pattern == new.Pattern:
	case new.Pattern == "":
		c.safe(path, RulePattern, "need not match %s", old.Pattern)
	case old.Pattern == "":
		c.breaking(path, RulePattern, "must match %s", new.Pattern)
	default:
		c.breaking(path, RulePattern, "must match %s, not %s", new.Pattern, old.Pattern)
	}
	switch {
	case old.Format == new.Format:
	case new.Format == "":
		c.safe(path, RulePattern, "need not have the format %s", old.Format)
	default:
		c.breaking(path, RulePattern, "must have the format %s", new.Format)
	}
}

// positive returns nil for a minimum that every value satisfies. A minLength of 0
// is the same as none.
func positive(n *int64) *int64 {
	if n != nil && *n <= 0 {
		return nil
	}
	return n
}

// list compares the constraints on lists, and the types of lists and maps, which
// decide how server-side apply merges them. A change of these types is breaking,
// because it changes which parts of a list an applier owns.
func (c *checker) list(path string, old, new *props) {
	bound(c, path, lower, "minItems", positive(old.MinItems), positive(new.MinItems))
	bound(c, path, upper, "maxItems", old.MaxItems, new.MaxItems)
	if new.UniqueItems && !old.UniqueItems {
		c.breaking(path, RuleItems, "items must be unique")
	}
	ol, nl := deref(old.XListType, "atomic"), deref(new.XListType, "atomic")
	if ol != nl {
		c.breaking(path, RuleListType, "list type %s → %s", ol, nl)
	} else if !slices.Equal(old.XListMapKeys, new.XListMapKeys) {
		c.breaking(path, RuleListType, "list keys %s → %s", strings.Join(old.XListMapKeys, ", "), strings.Join(new.XListMapKeys, ", "))
	}
	if om, nm := deref(old.XMapType, "granular"), deref(new.XMapType, "granular"); om != nm {
		c.breaking(path, RuleListType, "map type %s → %s", om, nm)
	}
	oi, ni := items(old), items(new)
	if oi != nil && ni != nil {
		c.under([]string{"items"}, func() { c.schema(path+"[]", oi, ni) })
	} else if ni != nil && old.Type == "array" {
		c.breaking(path, RuleItems, "items have a schema")
	}
}

// items returns the schema of the items of a list, or nil.
func items(s *props) *props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// deref returns the string that s points to, or the API server's default for it.
func deref(s *string, fallback string) string {
	if s == nil {
		return fallback
	}
	return *s
}

// compact returns JSON in one form, so that equal values give equal texts.
func compact(raw []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// equal compares two values by their JSON.
func equal(a, b any) bool {
	x, errx := json.Marshal(a)
	y, erry := json.Marshal(b)
	return errx == nil && erry == nil && bytes.Equal(x, y)
}

// show returns a default for a message, shortened. 60 characters leave room for
// the rest of the line.
func show(v *apiextensionsv1.JSON) string {
	s := compact(v.Raw)
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%s…", string(r[:60]))
	}
	return s
}
