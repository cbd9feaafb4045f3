package roles

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/version"
)

// Module are the samples of a module: graphs of made-up instances, to compute rights from. To evaluate
// them takes seconds of CPU time, so it is done once for each version of a module.
type Module struct {
	// Digest is the digest of the module.
	Digest string `json:"digest"`
	// Program is the version of the program that has evaluated the samples: another one may find
	// more. It is "" for embedded modules.
	Program string `json:"program,omitempty"`
	// Samples are graphs from [Reduce].
	Samples []*v1alpha1.ResourceGraph `json:"samples"`
}

// embedded are the [Module]s that are compiled into the program. `make generate` writes them.
//
//go:embed embedded.json
var embedded []byte

// annotationModule is the annotation of a service account with the [Module] of its Transform, as JSON.
const annotationModule = v1alpha1.Prefix + "samples"

// maxAnnotation is the length of the annotation, of which Kubernetes allows 256 KiB for all
// annotations together. The samples of a larger module are evaluated at each start.
const maxAnnotation = 200 << 10

// annotations returns the annotations of the service account.
func (m Module) annotations() map[string]string {
	if len(m.Samples) == 0 || m.isEmbedded() {
		return nil
	}
	m.Program = version.Program()
	data, err := json.Marshal(m)
	if err != nil || len(data) > maxAnnotation {
		return nil // then the samples are evaluated again
	}
	return map[string]string{annotationModule: string(data)}
}

// isEmbedded reports whether the samples are in the program.
func (m Module) isEmbedded() bool { return bytes.Contains(embedded, []byte(`"`+m.Digest+`"`)) }

// Samples returns the samples of a module that are in the program, or that the service account of its
// Transform has. It returns nil if there are none. The accounts of other Transforms with the module don't
// count: their instances have another kind.
func (c Client) Samples(ctx context.Context, transform types.NamespacedName, digest string) ([]*v1alpha1.ResourceGraph, error) {
	if (Module{Digest: digest}).isEmbedded() {
		var modules []Module
		if err := json.Unmarshal(embedded, &modules); err != nil {
			return nil, err
		}
		for _, m := range modules {
			if m.Digest == digest {
				return m.Samples, nil
			}
		}
	}
	var account corev1.ServiceAccount
	if err := c.Get(ctx, Account(c.Namespace, transform), &account); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var m Module
	if err := json.Unmarshal([]byte(account.Annotations[annotationModule]), &m); err != nil || m.Digest != digest || m.Program != version.Program() {
		return nil, nil
	}
	return m.Samples, nil
}

// Reduce returns samples with nothing but what rights depend on. Rights depend on the content of roles,
// bindings and definitions of kinds. Of all other objects, they depend on the kind and the names. A node
// that an earlier sample has is left out.
func Reduce(samples []*v1alpha1.ResourceGraph) []*v1alpha1.ResourceGraph {
	var reduced []*v1alpha1.ResourceGraph
	seen := map[string]bool{}
	for _, s := range samples {
		g := &v1alpha1.ResourceGraph{TypeMeta: s.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
		g.Spec.Adopt = s.Spec.Adopt
		for _, n := range s.Spec.Graph.Nodes {
			node := v1alpha1.Node{ID: n.ID, Resource: reduce(n.Resource), ExternalRef: n.ExternalRef, ApplyPolicy: n.ApplyPolicy}
			// Graphs with many nodes need the right to keep an inventory, so their nodes are kept.
			text, err := json.Marshal([]any{g.Spec.Adopt, node.Resource, node.ExternalRef, node.ApplyPolicy})
			if err != nil || !seen[string(text)] || len(s.Spec.Graph.Nodes) > v1alpha1.MaxInventory/2 {
				seen[string(text)] = true
				g.Spec.Graph.Nodes = append(g.Spec.Graph.Nodes, node)
			}
		}
		if len(g.Spec.Graph.Nodes) > 0 {
			reduced = append(reduced, g)
		}
	}
	return reduced
}

// reduce returns the object of a node with nothing but what rights depend on.
func reduce(object *runtime.RawExtension) *runtime.RawExtension {
	var o struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name      json.RawMessage `json:"name,omitempty"`
			Namespace json.RawMessage `json:"namespace,omitempty"`
		} `json:"metadata"`
	}
	if object == nil || json.Unmarshal(object.Raw, &o) != nil {
		return object
	}
	if group := o.GroupVersionKind().Group; group == rbacv1.GroupName || group == "apiextensions.k8s.io" {
		return object
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return object
	}
	return &runtime.RawExtension{Raw: raw}
}
