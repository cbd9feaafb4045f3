package compat

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Change is one difference between two definitions.
type Change struct {
	// CRD is the name of the definition, Version the version that the change
	// is in; Version is empty for what all versions share.
	CRD, Version string
	// Path is the field, such as spec.ports[].name or spec.env.*, where []
	// stands for any item and * for any key.
	Path string
	// Message says what changed, such as "maximum 100 → 50".
	Message string
	// Rule is a stable word for the kind of change; see Rules.
	Rule     string
	Breaking bool
	// At are the keys that lead to the place in the new definition, or as far
	// as it still has it: spec, versions, 0, schema, …
	At []string
}

// The kinds of change.
const (
	RuleRemoved    = "removed"
	RuleRequired   = "required"
	RuleAdded      = "added"
	RuleType       = "type"
	RuleEnum       = "enum"
	RuleBound      = "bound"
	RulePattern    = "pattern"
	RuleItems      = "items"
	RuleKeys       = "keys"
	RuleValidation = "validation"
	RuleVersion    = "version"
	RuleNames      = "names"
	RuleScope      = "scope"
	RuleDefault    = "default"
	RuleListType   = "list-type"
)

// Check lists what changed from one definition to another, breaking changes
// first, each group in the order of versions and fields.
func Check(old, new *apiextensionsv1.CustomResourceDefinition) []Change {
	c := &checker{crd: old.Name}
	c.names(old, new)
	for _, ov := range old.Spec.Versions {
		i := slices.IndexFunc(new.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == ov.Name
		})
		c.version = ov.Name
		c.at = []string{"spec", "versions"}
		if !ov.Served {
			if ov.Storage && i < 0 {
				c.breaking("", RuleVersion, "version %s is gone, in which objects are stored", ov.Name)
			}
			continue
		}
		if i < 0 || !new.Spec.Versions[i].Served {
			c.breaking("", RuleVersion, "version %s is no longer served", ov.Name)
			continue
		}
		nv := new.Spec.Versions[i]
		if nv.Deprecated && !ov.Deprecated {
			c.safe("", RuleVersion, "version %s is deprecated", ov.Name)
		}
		if ov.Storage && !nv.Storage {
			c.safe("", RuleVersion, "version %s is no longer the one that is stored", ov.Name)
		}
		if (ov.Subresources != nil && ov.Subresources.Status != nil) != (nv.Subresources != nil && nv.Subresources.Status != nil) {
			c.breaking("", RuleNames, "the status subresource comes or goes")
		}
		c.at = []string{"spec", "versions", fmt.Sprint(i), "schema", "openAPIV3Schema"}
		c.schema("", schemaOf(ov), schemaOf(nv))
	}
	c.version, c.at = "", []string{"spec", "versions"}
	for _, nv := range new.Spec.Versions {
		if nv.Served && !slices.ContainsFunc(old.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == nv.Name && v.Served
		}) {
			c.safe("", RuleVersion, "version %s is new", nv.Name)
		}
	}
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		switch {
		case a.Breaking == b.Breaking:
			return 0
		case a.Breaking:
			return -1
		}
		return 1
	})
	return c.changes
}

// Removed is the change that takes a whole definition away.
func Removed(old *apiextensionsv1.CustomResourceDefinition) Change {
	return Change{CRD: old.Name, Message: "the definition is gone, and every object of kind " + old.Spec.Names.Kind + " with it",
		Rule: RuleRemoved, Breaking: true}
}

// Added is the change that brings a new definition.
func Added(new *apiextensionsv1.CustomResourceDefinition) Change {
	return Change{CRD: new.Name, Message: "the definition is new", Rule: RuleAdded}
}

func schemaOf(v apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return &apiextensionsv1.JSONSchemaProps{}
	}
	return v.Schema.OpenAPIV3Schema
}

type checker struct {
	crd, version string
	at           []string
	// watchers are the rules of this schema and of those around it.
	watchers []watcher
	changes  []Change
}

func (c *checker) add(path, rule string, breaking bool, format string, args []any) {
	c.changes = append(c.changes, Change{
		CRD: c.crd, Version: c.version, Path: path, Rule: rule, Breaking: breaking,
		Message: fmt.Sprintf(format, args...), At: slices.Clone(c.at),
	})
}

func (c *checker) breaking(path, rule, format string, args ...any) {
	c.add(path, rule, true, format, args)
}

func (c *checker) safe(path, rule, format string, args ...any) {
	c.add(path, rule, false, format, args)
}

// unlessWatched is for changes that put a value where none was: at a field of
// the current schema, or for an empty name at the current place.
func (c *checker) unlessWatched(path, field, rule, format string, args ...any) {
	keys := c.at
	if field != "" {
		keys = append(slices.Clone(keys), "properties", field)
	}
	watched := slices.ContainsFunc(c.watchers, func(w watcher) bool { return w.sees(keys[w.depth:]) })
	if watched {
		format += ", where a rule may not expect it"
	}
	c.add(path, rule, watched, format, args)
}

// under runs a comparison at a place below the current one.
func (c *checker) under(keys []string, compare func()) {
	at := c.at
	c.at = append(slices.Clone(at), keys...)
	compare()
	c.at = at
}

// names compares what the kind is called and where its objects live.
func (c *checker) names(old, new *apiextensionsv1.CustomResourceDefinition) {
	c.at = []string{"spec"}
	changed := func(what, a, b, rule string) {
		if a != b {
			c.breaking("", rule, "%s %s → %s", what, a, b)
		}
	}
	changed("group", old.Spec.Group, new.Spec.Group, RuleNames)
	changed("scope", string(old.Spec.Scope), string(new.Spec.Scope), RuleScope)
	c.at = []string{"spec", "names"}
	o, n := old.Spec.Names, new.Spec.Names
	changed("kind", o.Kind, n.Kind, RuleNames)
	changed("plural", o.Plural, n.Plural, RuleNames)
	changed("singular", o.Singular, n.Singular, RuleNames)
	changed("listKind", o.ListKind, n.ListKind, RuleNames)
	for _, list := range []struct {
		what     string
		old, new []string
	}{{"short name", o.ShortNames, n.ShortNames}, {"category", o.Categories, n.Categories}} {
		for _, s := range list.old {
			if !slices.Contains(list.new, s) {
				c.breaking("", RuleNames, "%s %s is gone", list.what, s)
			}
		}
		for _, s := range list.new {
			if !slices.Contains(list.old, s) {
				c.safe("", RuleNames, "%s %s is new", list.what, s)
			}
		}
	}
}
