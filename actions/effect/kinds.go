package effect

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Kinds are the kinds that Receivers may change, beside those that have a request for a
// reconciliation by themselves.
type Kinds struct{ entries []schema.GroupKind } // a Kind "*" means all kinds of the group

// ParseKinds parses entries such as DatabaseCluster.infra.example.com or *.infra.example.com.
func ParseKinds(entries []string) (Kinds, error) {
	var k Kinds
	for _, entry := range entries {
		kind, group, found := strings.Cut(strings.TrimSpace(entry), ".")
		if !found || kind == "" || len(validation.IsDNS1123Subdomain(group)) > 0 {
			return k, fmt.Errorf("%q is not KIND.GROUP or *.GROUP", entry)
		}
		k.entries = append(k.entries, schema.GroupKind{Group: group, Kind: kind})
	}
	return k, nil
}

// allows reports whether a kind is listed.
func (k Kinds) allows(kind schema.GroupKind) bool {
	return slices.ContainsFunc(k.entries, func(e schema.GroupKind) bool {
		return e.Group == kind.Group && (e.Kind == "*" || e.Kind == kind.Kind)
	})
}

// isFlux reports whether a group is one of Flux.
func isFlux(group string) bool { return strings.HasSuffix(group, ".toolkit.fluxcd.io") }

// reconciles reports whether a reconciliation of a kind may be requested.
func (k Kinds) reconciles(kind schema.GroupKind) bool {
	own := kind.Group == v1alpha1.Group && slices.Contains([]string{"Action", "ResourceGraph", "Transform"}, kind.Kind)
	return own || isFlux(kind.Group) || k.allows(kind)
}
