package rbac

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Resource is the resource of a kind, as roles name it.
type Resource struct {
	// Name is the plural name: deployments.
	Name       string
	Namespaced bool
}

// Resources maps kinds to their resources.
type Resources map[schema.GroupKind]Resource

// UnknownKindError is returned for a kind whose resource isn't known. The name
// can't be guessed, because a CustomResourceDefinition may choose any plural.
type UnknownKindError struct{ schema.GroupKind }

// Error names the kind only; the command line adds the flags that help.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("the resource of kind %s isn't known", e.GroupKind)
}

// find returns the resource of a kind from the map, or of a built-in kind. The
// error is an [*UnknownKindError].
func (r Resources) find(gk schema.GroupKind) (Resource, error) {
	// Built-in kinds come first: a definition in a graph must not turn the rights on
	// one of them into rights on another resource.
	if clusterScoped, known := graph.ClusterScoped(gk); known {
		return Resource{Name: builtInResource(gk.Kind), Namespaced: !clusterScoped}, nil
	}
	if found, ok := r[gk]; ok {
		return found, nil
	}
	if gk.Group == v1alpha1.Group {
		return Resource{Name: builtInResource(gk.Kind), Namespaced: true}, nil
	}
	return Resource{}, &UnknownKindError{gk}
}

// builtInResource returns the resource name of a built-in kind. All built-in kinds
// follow this rule; a test compares it with a cluster.
func builtInResource(kind string) string {
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}

// Define adds the kind that a CustomResourceDefinition, in JSON, defines. It
// returns false if the definition lacks the kind or a valid group or plural name: a
// group or resource "*" would stand for all of them in a role.
func (r Resources) Define(definition []byte) bool {
	var d struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind   string `json:"kind"`
				Plural string `json:"plural"`
			} `json:"names"`
			Scope string `json:"scope"`
		} `json:"spec"`
	}
	if json.Unmarshal(definition, &d) != nil || d.Spec.Names.Kind == "" ||
		len(validation.IsDNS1123Subdomain(d.Spec.Group)) > 0 || len(validation.IsDNS1035Label(d.Spec.Names.Plural)) > 0 {
		return false
	}
	r[schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}] = Resource{
		Name: d.Spec.Names.Plural, Namespaced: d.Spec.Scope == string(v1alpha1.ScopeNamespaced),
	}
	return true
}

// defineFromGraph adds the kinds whose CustomResourceDefinitions are nodes of a
// graph. Nodes that can't be read are left out: applying them fails anyway.
func (r Resources) defineFromGraph(rg *v1alpha1.ResourceGraph) {
	for _, n := range rg.Spec.Graph.Nodes {
		var object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if n.Resource == nil || json.Unmarshal(n.Resource.Raw, &object) != nil {
			continue
		}
		if object.Kind == "CustomResourceDefinition" && strings.HasPrefix(object.APIVersion, "apiextensions.k8s.io/") {
			r.Define(n.Resource.Raw)
		}
	}
}
