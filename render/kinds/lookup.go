package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/source"
)

// Catalog is the kinds that are known: those that Kubernetes has, and those of
// CustomResourceDefinitions. The zero value knows the first. It may be used by
// several goroutines at once when all definitions are added.
type Catalog struct {
	custom map[schema.GroupKind]*Custom
}

// Lookup gives the type of a kind's objects. Where there is none the problem
// says why; of a kind that isn't known at all it is a Note.
func (c *Catalog) Lookup(apiVersion, kind string) (*Type, *Problem) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, &Problem{Path: reference.Path{"apiVersion"}, Message: err.Error()}
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: kind}
	if custom := c.custom[gk]; custom != nil {
		v, problem := custom.version(gv.Version)
		if problem != nil {
			return nil, problem
		}
		return v.typ, nil
	}
	b := table()
	k, ok := b.kinds[gv.WithKind(kind)]
	switch {
	case ok && k.removed == "":
		return k.typ, nil
	case ok:
		p := &Problem{
			Path:    reference.Path{"apiVersion"},
			Message: fmt.Sprintf("%s %s is gone since Kubernetes %s", apiVersion, kind, k.removed),
		}
		if k.instead == "" {
			k.instead = b.newest(gk)
		}
		if k.instead != "" {
			p.Hint = "use " + k.instead
		}
		return nil, p
	case len(b.versions[gk]) > 0:
		return nil, &Problem{
			Path:    reference.Path{"apiVersion"},
			Message: fmt.Sprintf("%s is no version of %s that Kubernetes %s has", apiVersion, kind, b.release),
			Hint:    "use " + b.newest(gk),
		}
	case b.groups[gv.Group]:
		return nil, &Problem{
			Path:    reference.Path{"kind"},
			Message: fmt.Sprintf("Kubernetes %s has no kind %s in %s", b.release, kind, apiVersion),
			Hint:    b.elsewhere(gv.Group, kind),
		}
	}
	return nil, &Problem{
		Path: reference.Path{"kind"}, Level: Note,
		Message: fmt.Sprintf("%s %s is not checked: its schema isn't known", apiVersion, kind),
		Hint:    "give its CustomResourceDefinition with --crd",
	}
}

// newest is what there is of a kind, as "apps/v1 Deployment", or "".
func (b *builtin) newest(gk schema.GroupKind) string {
	versions := b.versions[gk]
	if len(versions) == 0 {
		return ""
	}
	return schema.GroupVersion{Group: gk.Group, Version: versions[0]}.String() + " " + gk.Kind
}

// elsewhere finds the kind in another group, or a kind of nearly this name.
func (b *builtin) elsewhere(group, kind string) string {
	var found, names []string
	for gk := range b.versions {
		if gk.Kind == kind {
			found = append(found, b.newest(gk))
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
