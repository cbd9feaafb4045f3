package compat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

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

// wholeBounds returns the schemas of two integers with inclusive bounds where only
// one of them is exclusive: more than 0 is 1 and more.
func wholeBounds(old, new *props) (*props, *props) {
	if old.Type != "integer" || new.Type != "integer" {
		return old, new
	}
	o, n := *old, *new
	for _, s := range []*props{&o, &n} {
		if s.ExclusiveMinimum && s.Minimum != nil && o.Minimum != nil && n.Minimum != nil && old.ExclusiveMinimum != new.ExclusiveMinimum {
			bound := math.Floor(*s.Minimum) + 1
			s.ExclusiveMinimum, s.Minimum = false, &bound
		}
		if s.ExclusiveMaximum && s.Maximum != nil && o.Maximum != nil && n.Maximum != nil && old.ExclusiveMaximum != new.ExclusiveMaximum {
			bound := math.Ceil(*s.Maximum) - 1
			s.ExclusiveMaximum, s.Maximum = false, &bound
		}
	}
	return &o, &n
}

// numbers compares the constraints on numbers. For minimum 1, exclusive, and then
// minimum 1, inclusive, the change is safe: the value 1 itself is allowed.
func (c *checker) numbers(path string, old, new *props) {
	old, new = wholeBounds(old, new)
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

// strings compares the constraints on strings. Patterns are compared as sets of
// strings, see [excluded], and formats as text.
func (c *checker) strings(path string, old, new *props) {
	// A bound that the old pattern implies demands nothing new.
	implied := func(format string, n *int64) bool {
		_, some, decided := excluded(old.Pattern, fmt.Sprintf(format, *n))
		return decided && !some
	}
	if n := positive(new.MinLength); n == nil || old.MinLength != nil || !implied("(?s)^.{%d,}$", n) {
		bound(c, path, lower, "minLength", positive(old.MinLength), n)
	}
	if n := new.MaxLength; n == nil || old.MaxLength != nil || !implied(`(?s)^.{0,%d}\z`, n) {
		bound(c, path, upper, "maxLength", old.MaxLength, n)
	}
	switch {
	case old.Pattern == new.Pattern:
	case new.Pattern == "":
		c.safe(path, RulePattern, "need not match %s", old.Pattern)
	default:
		what := "must match " + new.Pattern
		if old.Pattern != "" {
			what += ", not " + old.Pattern
		}
		switch example, some, decided := excluded(old.Pattern, new.Pattern); {
		case !decided:
			c.breaking(path, RulePattern, "%s", what)
		case some:
			c.breaking(path, RulePattern, "%s, which excludes %q", what, example)
		default:
			c.safe(path, RulePattern, "%s, which excludes nothing", what)
		}
	}
	c.format(path, old, new)
}

// format compares the formats that the API server enforces. The narrow formats
// of numbers are int32 and float; int64 and double admit as much as no format does. An
// integer has no format of the wider types, which are for strings or fractions.
func (c *checker) format(path string, old, new *props) {
	o, n := enforcedFormat(old), enforcedFormat(new)
	beyond := func(v apiextensionsv1.JSON) bool {
		_, err := strconv.ParseInt(compact(v.Raw), 10, 32)
		return err != nil
	}
	listed := n == "int32" && len(old.Enum) > 0 && !slices.ContainsFunc(old.Enum, beyond)
	fits := listed || n == "int32" && new.Minimum != nil && new.Maximum != nil && *new.Minimum >= math.MinInt32 && *new.Maximum <= math.MaxInt32
	switch {
	case o == n, fits, old.Type == "integer" && new.Type != "integer":
	case n == "":
		c.safe(path, RulePattern, "need not have the format %s", old.Format)
	default:
		c.breaking(path, RulePattern, "must have the format %s", new.Format)
	}
}

// enforcedFormat returns the format of s if the API server rejects values for it,
// or the empty string. It ignores formats that it doesn't know.
func enforcedFormat(s *props) string {
	known := spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format}}
	switch s.Type {
	case "integer", "number":
		if s.Format == "int32" || s.Format == "float" {
			return s.Format
		}
		return ""
	case "", "string":
		if s.Format == "password" || len(validation.GetUnrecognizedFormats(&known, newestAPIServer)) > 0 {
			return ""
		}
		return strings.ReplaceAll(s.Format, "-", "")
	}
	return ""
}

// newestAPIServer is later than every version in which a format was added.
var newestAPIServer = version.MajorMinor(1, 1000)
