package compat

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/problem"
)

// Change is one difference between two definitions. Its Severity is Error if the
// change is breaking, Warning if every object stays valid but writes to it behave
// differently, and Note if the change is safe. Instance is the name of the
// definition, Rule one of the rules below. Path is the field, such as
// spec.ports[].name or spec.env.*, where [] stands for any item and * for any
// key. Message is a text such as "maximum 100 → 50". The caller knows the file, so
// Position is empty.
type Change struct {
	problem.Problem
	// Version is the version that the change is in. It is empty for what all
	// versions share.
	Version string
	// At are the keys that lead to the position in the new definition, such as
	// spec, versions, 0, schema, as far as it still has them.
	At []string
}

// Breaking reports whether an object that the old definition accepts may be
// rejected, or read differently, by the new one.
func (c Change) Breaking() bool { return c.Severity == problem.Error }

// The rules of changes. They are stable; machine-readable formats print them.
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
	RuleConversion = "conversion"
	RuleScale      = "scale"
	RuleSelectable = "selectable-field"
	RuleNames      = "names"
	RuleScope      = "scope"
	RuleDefault    = "default"
	RuleListType   = "list-type"
)

// Check returns what changed from one definition to another: breaking changes
// first, then warnings, then safe ones, each group in the order of versions and
// fields. Versions are matched by name. If objects are stored in another version
// from now on, and no webhook converts them, that version is compared with the one
// in which they were stored, too.
func Check(old, new *apiextensionsv1.CustomResourceDefinition) []Change {
	c := &checker{crd: old.Name}
	c.names(old, new)
	c.conversion(old, new)
	for i := range old.Spec.Versions {
		c.versionOf(&old.Spec.Versions[i], new)
	}
	c.stored(old, new)
	c.version, c.at = "", []string{"spec", "versions"}
	for _, nv := range new.Spec.Versions {
		if ov := versionNamed(old, nv.Name); nv.Served && (ov == nil || !ov.Served) {
			c.safe("", RuleVersion, "version %s is new", nv.Name)
		}
	}
	return slices.Concat(c.breakings, c.warnings, c.safes)
}

// Removed returns the change that removes a whole definition. Kubernetes deletes
// all objects of a kind with its definition.
func Removed(old *apiextensionsv1.CustomResourceDefinition) Change {
	return Change{Problem: problem.Problem{
		Severity: problem.Error, Instance: old.Name, Rule: RuleRemoved,
		Message: "the definition is gone, and every object of kind " + old.Spec.Names.Kind + " with it",
	}}
}

// Added returns the change that adds a definition.
func Added(new *apiextensionsv1.CustomResourceDefinition) Change {
	return Change{Problem: problem.Problem{Severity: problem.Note, Instance: new.Name, Rule: RuleAdded, Message: "the definition is new"}}
}

// checker collects the changes between two definitions.
type checker struct {
	// crd is the name of the definition, and version the version that is being
	// compared.
	crd, version string
	// at are the keys that lead to the current schema in the new definition.
	at []string
	// watchers are the rules of the current schema and of those around it.
	watchers []watcher
	// breakings, warnings and safes are the changes, in the order in which they
	// were found.
	breakings, warnings, safes []Change
}

// change returns a change at the current schema. Path is the field.
func (c *checker) change(severity problem.Severity, path, rule, format string, args []any) Change {
	return Change{
		Problem: problem.Problem{Severity: severity, Instance: c.crd, Path: path, Rule: rule, Message: fmt.Sprintf(format, args...)},
		Version: c.version, At: slices.Clone(c.at),
	}
}

// breaking records a change that may reject or change existing objects.
func (c *checker) breaking(path, rule, format string, args ...any) {
	c.breakings = append(c.breakings, c.change(problem.Error, path, rule, format, args))
}

// warning records a change that rejects no object, but changes what a write does.
func (c *checker) warning(path, rule, format string, args ...any) {
	c.warnings = append(c.warnings, c.change(problem.Warning, path, rule, format, args))
}

// safe records a change that affects no existing object.
func (c *checker) safe(path, rule, format string, args ...any) {
	c.safes = append(c.safes, c.change(problem.Note, path, rule, format, args))
}

// unlessWatched records a change that adds a value to existing objects. It is
// breaking if a rule may read the value. Field is a field of the current schema;
// if it is empty, the value is that of the current schema itself. For example, a
// new field with a default appears in every existing object. A rule that reads
// the field may then reject the object.
func (c *checker) unlessWatched(path, field, rule, format string, args ...any) {
	keys := c.at
	if field != "" {
		keys = append(slices.Clone(keys), "properties", field)
	}
	watched := slices.ContainsFunc(c.watchers, func(w watcher) bool { return w.sees(keys[w.depth:]) })
	if !watched {
		c.safe(path, rule, format, args...)
		return
	}
	c.breaking(path, rule, format+", where a rule may not expect it", args...)
}

// under runs a comparison of schemas below the current one.
func (c *checker) under(keys []string, compare func()) {
	at := c.at
	c.at = append(slices.Clone(at), keys...)
	compare()
	c.at = at
}

// names compares the names of the kind and its scope. Clients and RBAC rules
// refer to objects by group and plural, and people by short names, so a lost name
// breaks them. The scope decides where objects are.
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
	c.set("", RuleNames, "short name", o.ShortNames, n.ShortNames)
	c.set("", RuleNames, "category", o.Categories, n.Categories)
}

// set compares two sets of values. It is breaking if a value is gone, and safe if
// one is new.
func (c *checker) set(path, rule, what string, old, new []string) {
	for _, v := range old {
		if !slices.Contains(new, v) {
			c.breaking(path, rule, "%s %s is gone", what, v)
		}
	}
	for _, v := range new {
		if !slices.Contains(old, v) {
			c.safe(path, rule, "%s %s is new", what, v)
		}
	}
}
