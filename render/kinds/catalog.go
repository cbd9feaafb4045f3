package kinds

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// Catalog holds the known kinds: the built-in ones and those of
// CustomResourceDefinitions. The zero value has the built-in kinds. A Catalog
// is safe for concurrent use once all definitions are added.
type Catalog struct {
	// custom is nil until Add is called.
	custom map[schema.GroupKind]*Custom
	// own are the kinds of Pequod.
	own ownKinds
}

// ownKinds are kinds whose definitions are read when they are first looked up.
type ownKinds struct {
	group string
	read  func(kind string) (*Custom, error)
	mu    sync.Mutex
	known map[string]*Custom // nil if there is no such kind
}

// get returns a kind, or nil.
func (o *ownKinds) get(gk schema.GroupKind) (*Custom, error) {
	if o.read == nil || gk.Group != o.group {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.known[gk.Kind]; ok {
		return known, nil
	}
	found, err := o.read(gk.Kind)
	if err == nil {
		o.known[gk.Kind] = found
	}
	return found, err
}

// AddOwn adds the kinds of a group, each of which is read when it is first looked up: reading one
// costs as much as rendering a small module. read returns nil if there is no such kind. A
// definition of [Catalog.Add] replaces a kind.
func (c *Catalog) AddOwn(group string, read func(kind string) (*Custom, error)) {
	c.own.group, c.own.read, c.own.known = group, read, map[string]*Custom{}
}

// customOf returns a kind that a definition has, or nil.
func (c *Catalog) customOf(gk schema.GroupKind) (*Custom, error) {
	if custom := c.custom[gk]; custom != nil {
		return custom, nil
	}
	return c.own.get(gk)
}

// Add adds a definition. A second definition of a kind is an error, even if the
// two are equal: it would not be clear which one the objects were written for.
func (c *Catalog) Add(custom *Custom) error {
	if c.custom == nil {
		c.custom = map[schema.GroupKind]*Custom{}
	}
	if c.custom[custom.GroupKind] != nil {
		return fmt.Errorf("kind %s is defined twice", custom.GroupKind)
	}
	c.custom[custom.GroupKind] = custom
	return nil
}

// Lookup returns the type of a kind's objects, or the problem that explains why
// there is none, at apiVersion or kind. The cases, in their order:
//
// 1. The user gave a definition: its version, or the served ones as a hint.
//
// 2. A kind of Pequod.
//
// 3. A built-in kind that is served.
//
// 4. A built-in version that was removed: the release, and the version to use
// instead.
//
// 5. A built-in kind that never had this version.
//
// 6. A built-in group that has no such kind: a similar name as a hint.
//
// 7. A group that the catalog does not know. The kind may exist, so this problem
// is a Note, and all others are Errors.
func (c *Catalog) Lookup(apiVersion, kind string) (*Type, *problem.Problem) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, newProblem("apiVersion", err.Error(), "")
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: kind}
	// A definition that the user gives replaces a built-in kind.
	custom, unread := c.customOf(gk)
	if unread != nil {
		return nil, newProblem("kind", unread.Error(), "")
	}
	if custom != nil {
		v, p := custom.version(gv.Version)
		if p != nil {
			return nil, p
		}
		return v.typ, nil
	}
	b := table()
	k, ok := b.kinds[gv.WithKind(kind)]
	switch {
	case ok && k.removed == "":
		return k.typ, nil
	case ok:
		p := newProblem("apiVersion", fmt.Sprintf("%s %s is gone since Kubernetes %s", apiVersion, kind, k.removed), "")
		replacement := k.replacement
		if replacement == "" {
			replacement = b.preferred(gk)
		}
		if replacement != "" {
			p.Hint = "use " + replacement
		}
		return nil, p
	case len(b.versions[gk]) > 0:
		return nil, newProblem("apiVersion",
			fmt.Sprintf("%s is no version of %s that Kubernetes %s has", apiVersion, kind, b.release), "use "+b.preferred(gk))
	case b.groups[gv.Group]:
		return nil, newProblem("kind",
			fmt.Sprintf("Kubernetes %s has no kind %s in %s", b.release, kind, apiVersion), b.similarKind(gv.Group, kind))
	}
	p := newProblem("kind", fmt.Sprintf("%s %s is not checked: its schema isn't known", apiVersion, kind),
		"give its CustomResourceDefinition with --crd")
	p.Severity = problem.Note
	return nil, p
}

// preferred returns the preferred version of a built-in kind, such as "apps/v1
// Deployment", or "".
func (b *builtin) preferred(gk schema.GroupKind) string {
	versions := b.versions[gk]
	if len(versions) == 0 {
		return ""
	}
	return schema.GroupVersion{Group: gk.Group, Version: versions[0]}.String() + " " + gk.Kind
}

// similarKind returns a hint that names the kind in another group, or a kind with
// a similar name in the group, or "". The first covers a frequent mistake: a
// Deployment in v1 gets the hint "use apps/v1 Deployment".
func (b *builtin) similarKind(group, kind string) string {
	var found, names []string
	for gk := range b.versions {
		if gk.Kind == kind {
			found = append(found, b.preferred(gk))
		}
		if gk.Group == group {
			names = append(names, gk.Kind)
		}
	}
	slices.Sort(found)
	slices.Sort(names)
	if len(found) > 0 {
		return "use " + strings.Join(found, " or ")
	}
	return source.Hint(kind, names)
}
