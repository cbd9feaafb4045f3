package compat

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// object compares the fields of objects and the keys of maps. The steps: the
// number of fields, the keys that have no names in the schema, the named fields,
// and the required ones.
func (c *checker) object(path string, old, new *props) {
	bound(c, path, lower, "minProperties", positive(old.MinProperties), positive(new.MinProperties))
	bound(c, path, upper, "maxProperties", old.MaxProperties, new.MaxProperties)
	keeps, kept := keepsUnknown(old), keepsUnknown(new)
	// If a schema without a type gets one, types has reported it. Scalars and lists
	// have no fields to keep.
	if keeps && !kept && old.Type == "object" && additional(new) == nil {
		c.breaking(path, RuleKeys, "fields that the schema doesn't name are no longer kept")
	}
	oa, na := additional(old), additional(new)
	switch {
	case oa == nil && na == nil, na == nil && kept:
	case na == nil:
		c.breaking(path, RuleKeys, "other keys are no longer allowed")
	// Values that were kept unseen must satisfy the schema now.
	case oa == nil && keeps:
		c.breaking(path, RuleKeys, "values of other keys have a schema")
	case oa == nil:
		c.safe(path, RuleKeys, "other keys are allowed")
	default:
		c.under([]string{"additionalProperties"}, func() { c.schema(join(path, "*"), oa, na) })
	}
	c.fields(path, old, new, oa, na)
	for _, name := range new.Required {
		if slices.Contains(old.Required, name) {
			continue
		}
		// The API server sets a default before it checks required fields.
		if p, ok := new.Properties[name]; ok && p.Default != nil {
			continue
		}
		c.breaking(join(path, name), RuleRequired, "is required now")
	}
	// A removed field has its own change.
	for _, name := range old.Required {
		if _, still := new.Properties[name]; still && !slices.Contains(new.Required, name) {
			c.safe(join(path, name), RuleRequired, "is optional now")
		}
	}
}

// fields compares named fields. A name that only one side has is compared with
// what the other side says about other keys. Names are compared in sorted order,
// so that the changes have a fixed order.
func (c *checker) fields(path string, old, new *props, oa, na *props) {
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		o, at := old.Properties[name], join(path, name)
		n, ok := new.Properties[name]
		switch known := implied(path, name, old); {
		case ok:
			c.under([]string{"properties", name}, func() { c.schema(at, &o, &n) })
		case known != nil:
			c.schema(at, &o, known)
		case na != nil:
			c.under([]string{"additionalProperties"}, func() { c.schema(at, &o, na) })
		case keepsUnknown(new):
			// A null in this field used to be dropped and is now kept.
			c.unlessWatched(at, name, RuleRemoved, "is no longer described")
			c.defaults(at, &o, &props{})
		default:
			c.breaking(at, RuleRemoved, "field removed%s", perhapsRenamed(name, old, new))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(new.Properties)) {
		n, at := new.Properties[name], join(path, name)
		if _, was := old.Properties[name]; was {
			continue
		}
		switch known := implied(path, name, new); {
		case known != nil:
			c.under([]string{"properties", name}, func() { c.schema(at, known, &n) })
		case oa != nil:
			c.under([]string{"properties", name}, func() { c.schema(at, oa, &n) })
		case keepsUnknown(old):
			c.under([]string{"properties", name}, func() { c.schema(at, &props{}, &n) })
		// Nothing had this field before, since the API server dropped it. Now all
		// objects have the default.
		case n.Default != nil:
			c.unlessWatched(at, name, RuleAdded, "field added, with the default %s", show(n.Default))
		case !slices.Contains(new.Required, name):
			c.safe(at, RuleAdded, "field added")
		}
	}
}

// implied returns the schema of a field that the API server keeps although the
// schema s doesn't name it, or nil: the type and metadata of the object itself and
// of embedded objects, and the names in metadata, the only fields there that a
// schema may constrain.
func implied(path, name string, s *props) *props {
	switch {
	case path == "metadata" && (name == "name" || name == "generateName"),
		(path == "" || s.XEmbeddedResource) && (name == "apiVersion" || name == "kind"):
		return &props{Type: "string"}
	case (path == "" || s.XEmbeddedResource) && name == "metadata":
		return &props{Type: "object"}
	}
	return nil
}

// perhapsRenamed returns a hint with the new field that has the same schema as a
// removed one, or the empty string. Descriptions are not compared, because a
// renamed field often gets a new one.
func perhapsRenamed(name string, old, new *props) string {
	was := old.Properties[name]
	was.Description = ""
	for _, n := range slices.Sorted(maps.Keys(new.Properties)) {
		is := new.Properties[n]
		is.Description = ""
		if _, had := old.Properties[n]; !had && equal(was, is) {
			return "; perhaps it is " + n + " now"
		}
	}
	return ""
}

// keepsUnknown reports whether the API server keeps fields that the schema
// doesn't name. The API server prunes unknown fields of all other schemas.
func keepsUnknown(s *props) bool {
	return s.Type == "" && !s.XIntOrString || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// additional returns the schema of keys that aren't named, or nil if they
// aren't allowed.
func additional(s *props) *props {
	a := s.AdditionalProperties
	switch {
	case a == nil:
		return nil
	case a.Schema != nil:
		return a.Schema
	case a.Allows:
		return &props{}
	}
	return nil
}

// ruleText returns the message of a rule, or the rule itself without one.
func ruleText(r apiextensionsv1.ValidationRule) string {
	if r.Message != "" {
		return r.Message
	}
	return r.Rule
}

// defaults compares defaults. A changed default changes existing objects that
// don't set the field. A removed default changes objects, too: the field is absent
// when they are read.
func (c *checker) defaults(path string, old, new *props) {
	switch {
	case old.Default == nil && new.Default == nil:
	case old.Default == nil:
		c.unlessWatched(path, "", RuleDefault, "default %s is new", show(new.Default))
	case new.Default == nil:
		c.breaking(path, RuleDefault, "default %s is gone", show(old.Default))
	case compact(old.Default.Raw) != compact(new.Default.Raw):
		c.breaking(path, RuleDefault, "default %s → %s", show(old.Default), show(new.Default))
	}
}

// join appends a name to a path. Names that could be misread are quoted.
func join(path, name string) string {
	if strings.ContainsAny(name, `.[]"/ `) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
