package rbac

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Resource is how roles name a kind: in the plural.
type Resource struct {
	Name       string
	Namespaced bool
}

// Resources are those of kinds.
type Resources map[schema.GroupKind]Resource

// UnknownKindError says that the resource of a kind isn't known. It can't be
// guessed: a definition may call it anything.
type UnknownKindError struct{ schema.GroupKind }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("the resource of kind %s isn't known", e.GroupKind)
}

func (r Resources) find(gk schema.GroupKind) (Resource, error) {
	if found, ok := r[gk]; ok {
		return found, nil
	}
	if cluster, known := graph.ClusterScoped(gk); known {
		return Resource{Name: builtIn(gk.Kind), Namespaced: !cluster}, nil
	}
	if gk.Group == v1alpha1.Group {
		return Resource{Name: builtIn(gk.Kind), Namespaced: true}, nil
	}
	return Resource{}, &UnknownKindError{gk}
}

// builtIn is the resource of a kind that comes with Kubernetes. All of them keep
// this rule, as a test on a cluster sees.
func builtIn(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case kind == "Endpoints":
		return name
	case strings.HasSuffix(name, "s"):
		return name + "es"
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// Define adds what a CustomResourceDefinition, as JSON, says of its kind. The
// result is false where it says too little.
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
	if json.Unmarshal(definition, &d) != nil || d.Spec.Group == "" || d.Spec.Names.Kind == "" || d.Spec.Names.Plural == "" {
		return false
	}
	r[schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}] = Resource{
		Name: d.Spec.Names.Plural, Namespaced: d.Spec.Scope == string(v1alpha1.ScopeNamespaced),
	}
	return true
}

// define adds the kinds that a graph defines.
func (r Resources) define(rg *v1alpha1.ResourceGraph) {
	for _, n := range rg.Spec.Graph.Nodes {
		var object struct{ APIVersion, Kind string }
		if n.Resource == nil || json.Unmarshal(n.Resource.Raw, &object) != nil {
			continue // the API server's to refuse
		}
		if object.Kind == "CustomResourceDefinition" && strings.HasPrefix(object.APIVersion, "apiextensions.k8s.io/") {
			r.Define(n.Resource.Raw)
		}
	}
}
