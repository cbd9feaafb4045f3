package platform

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// Catalog finds the platform of an instance by the group and kind of the
// instance: first among the platforms given by flags, then among the embedded
// modules, which it loads on first use. A given platform hides an embedded one of
// the same kind. The methods that look platforms up are safe for concurrent use.
type Catalog struct {
	// Given are the platforms that flags name, in that order, one per kind.
	Given []*render.Platform
	// modules opens embedded modules. The command's other loads use it, too.
	modules *modules.Opener

	mu sync.Mutex // guards embedded, and serializes loading
	// embedded are the embedded modules loaded so far, by name. Failed loads are
	// not kept. It is nil until the first load.
	embedded map[string]*render.Platform
}

// add adds a platform that a flag names. Two platforms of one kind are a problem:
// neither of them is the obvious choice. add must not be called once Find is in
// use.
func (c *Catalog) add(p *render.Platform) error {
	for _, other := range c.Given {
		if other.GroupKind() == p.GroupKind() {
			return problem.List{{
				Position: problem.Position{File: p.From}, Rule: problem.RulePlatform,
				Message: fmt.Sprintf("two platforms for kind %s: the other is %s", p.GroupKind(), other.From),
			}}
		}
	}
	c.Given = append(c.Given, p)
	return nil
}

// Find returns the platform of an instance. Its error is a problem.List if there
// is no platform for the kind, or none that serves the version. The hint of such
// a problem names the most similar kind and all known ones, or the served versions.
func (c *Catalog) Find(ctx context.Context, in *render.Instance) (*render.Platform, error) {
	p, err := c.lookup(ctx, in.Group(), in.Kind)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, problem.List{{
			Position: in.Pos(), Rule: problem.RulePlatform, Instance: in.String(),
			Message: fmt.Sprintf("no platform for %s %s", in.APIVersion, in.Kind),
			Hint:    c.hint(ctx, in),
		}}
	}
	if !p.Serves(in.Version()) {
		return nil, problem.List{{
			Position: in.PosOf("apiVersion"), Path: "apiVersion", Rule: problem.RulePlatform, Instance: in.String(),
			Message: fmt.Sprintf("version %s is not served by %s", in.Version(), p.From),
			Hint:    "served: " + strings.Join(p.Served(), ", "),
		}}
	}
	return p, nil
}

// Knows reports whether there is a platform for a kind, in any version.
func (c *Catalog) Knows(ctx context.Context, group, kind string) (bool, error) {
	p, err := c.lookup(ctx, group, kind)
	return p != nil, err
}

// lookup returns the platform of a kind, or nil. An embedded module has the name
// of its kind in lower case. For example, the module "webservice" is loaded for
// WebService of any group, and used for that of its group.
func (c *Catalog) lookup(ctx context.Context, group, kind string) (*render.Platform, error) {
	for _, p := range c.Given {
		if p.Group == group && p.Kind == kind {
			return p, nil
		}
	}
	// Most kinds have no embedded module. The list of names avoids loading one.
	name := strings.ToLower(kind)
	if !slices.Contains(modules.Embedded(), name) {
		return nil, nil
	}
	p, err := c.embeddedPlatform(ctx, name)
	if err != nil || p.Group != group || p.Kind != kind {
		return nil, err
	}
	return p, nil
}

// embeddedPlatform loads the embedded module of this name once. Callers that need
// it at the same time wait for the first one.
func (c *Catalog) embeddedPlatform(ctx context.Context, name string) (*render.Platform, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.embedded[name]; p != nil {
		return p, nil
	}
	ref := v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}
	sources, err := moduleTransform(c.modules, ref, modules.Place{}, "embedded:"+name).open(ctx)
	if err != nil {
		return nil, err
	}
	p, err := sources.Load()
	if err != nil {
		return nil, err
	}
	if c.embedded == nil {
		c.embedded = map[string]*render.Platform{}
	}
	c.embedded[name] = p
	return p, nil
}

// Embedded returns the platforms of the embedded modules by name, without those whose kind
// is that of a given platform. It loads all of them.
func (c *Catalog) Embedded(ctx context.Context) ([]*render.Platform, error) {
	var all []*render.Platform
	for _, name := range modules.Embedded() {
		p, err := c.embeddedPlatform(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(c.Given, func(q *render.Platform) bool { return q.GroupKind() == p.GroupKind() }) {
			all = append(all, p)
		}
	}
	return all, nil
}

// hint returns the hint for an instance whose kind has no platform:
//
//	did you mean "Shop"? there are: Shop.pequod.io, Backup.pequod.io
//
// If only the group is wrong, the suggestion is the kind with its right group.
func (c *Catalog) hint(ctx context.Context, in *render.Instance) string {
	if in.Group() == v1alpha1.Group {
		return ownKind(in.Kind)
	}
	var kinds, known []string
	for _, p := range c.known(ctx) {
		known = append(known, p.GroupKind())
		if p.Kind == in.Kind {
			kinds = append(kinds, p.GroupKind())
		} else {
			kinds = append(kinds, p.Kind)
		}
	}
	list := "there are: " + strings.Join(known, ", ")
	if near := source.Hint(in.Kind, kinds); near != "" {
		return near + " " + list
	}
	return list
}

// ownKind returns what to do with an object of one of Pequod's own kinds, which is no instance.
func ownKind(kind string) string {
	switch kind {
	case "ResourceGraph":
		return "it is not an instance but the graph of one, as pequod render prints it; pequod graph -f checks it, and pequod diff -f compares it with the cluster"
	case "Transform":
		return "it is not an instance but makes a module a platform; pass it with --platform, and the instances with -f"
	}
	return "it is not an instance but a kind of Pequod itself; kubectl apply --dry-run=server checks it"
}

// known returns all platforms: the given ones in their order, then the embedded
// ones by name, without those that a given one hides. It loads all embedded
// modules; one that fails to load is left out.
func (c *Catalog) known(ctx context.Context) []*render.Platform {
	all := slices.Clone(c.Given)
	for _, name := range modules.Embedded() {
		p, err := c.embeddedPlatform(ctx, name)
		if err == nil && !slices.ContainsFunc(all, func(q *render.Platform) bool { return q.GroupKind() == p.GroupKind() }) {
			all = append(all, p)
		}
	}
	return all
}
