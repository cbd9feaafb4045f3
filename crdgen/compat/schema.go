package compat

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// schema compares two schemas of one value: whether the new one accepts every
// value that the old one accepts. path is the field for messages, and c.at the
// position in the new definition.
func (c *checker) schema(path string, old, new *props) {
	old, new = plain(old), plain(new)
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

// plain returns s without the alternatives that only repeat that a value is an
// integer or a string, as controller-gen writes them.
func plain(s *props) *props {
	if !s.XIntOrString {
		return s
	}
	repeats := func(list []props) bool {
		return len(list) == 2 && equal(list[0], props{Type: "integer"}) && equal(list[1], props{Type: "string"})
	}
	out := *s
	if repeats(s.AnyOf) {
		out.AnyOf = nil
	}
	out.AllOf = slices.DeleteFunc(slices.Clone(s.AllOf), func(m props) bool {
		return repeats(m.AnyOf) && equal(m, props{AnyOf: m.AnyOf})
	})
	return &out
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
		// In an object the API server drops a null that isn't allowed, rather than
		// refuse the object, so that a default or nothing takes its place.
		case old.Default != nil:
			c.breaking(path, RuleType, "null is kept, and no longer replaced by the default")
		case len(new.Enum) > 0 && !slices.ContainsFunc(new.Enum, func(v apiextensionsv1.JSON) bool { return compact(v.Raw) == "null" }):
			c.breaking(path, RuleType, "null is kept, and isn't one of the allowed values")
		default:
			c.unlessWatched(path, "", RuleType, "null is allowed")
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

// list compares the constraints on lists, and the types of lists and maps, which
// decide how server-side apply merges them.
func (c *checker) list(path string, old, new *props) {
	bound(c, path, lower, "minItems", positive(old.MinItems), positive(new.MinItems))
	bound(c, path, upper, "maxItems", old.MaxItems, new.MaxItems)
	if new.UniqueItems && !old.UniqueItems {
		c.breaking(path, RuleItems, "items must be unique")
	}
	ol, nl := ptr.Deref(old.XListType, atomic), ptr.Deref(new.XListType, atomic)
	switch {
	case ol != nl && nl == atomic:
		c.warning(path, RuleListType, "list type %s → %s: an apply replaces the list as a whole", ol, nl)
	case ol != nl:
		c.breaking(path, RuleListType, "list type %s → %s", ol, nl)
	case !slices.Equal(old.XListMapKeys, new.XListMapKeys):
		c.breaking(path, RuleListType, "list keys %s → %s", strings.Join(old.XListMapKeys, ", "), strings.Join(new.XListMapKeys, ", "))
	}
	switch om, nm := ptr.Deref(old.XMapType, granular), ptr.Deref(new.XMapType, granular); {
	case om == nm:
	case nm == atomic:
		c.warning(path, RuleListType, "map type %s → %s: an apply replaces the map as a whole", om, nm)
	default:
		c.warning(path, RuleListType, "map type %s → %s: an apply that leaves out a key no longer removes it", om, nm)
	}
	oi, ni := items(old), items(new)
	if oi != nil && ni != nil {
		c.under([]string{"items"}, func() { c.schema(path+"[]", oi, ni) })
	} else if ni != nil && old.Type == "array" {
		c.breaking(path, RuleItems, "items have a schema")
	}
}

// The types of lists and maps. An object stays valid if they change, unless items
// have to be unique from now on; but appliers own other parts of it. Atomic is
// the API server's default for lists, and granular for maps.
const (
	atomic   = "atomic"
	granular = "granular"
)

// items returns the schema of the items of a list, or nil.
func items(s *props) *props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}
