package observe

import (
	"encoding/json"
	"maps"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Options select what is read.
type Options struct {
	// Events are those about Pequod's kinds.
	Events bool
	// Nodes adds the nodes of graphs, with their kinds and states.
	Nodes bool
}

// Cache returns what is read as part of the cache of a manager. Of graphs, only what names an
// object of Flux and the history are kept, and the nodes if they are selected.
func Cache(o Options) map[client.Object]cache.ByObject {
	read := map[client.Object]cache.ByObject{
		&v1alpha1.ResourceGraph{}: {Transform: func(obj any) (any, error) {
			if rg, ok := obj.(*v1alpha1.ResourceGraph); ok {
				return slim(rg, o.Nodes), nil
			}
			return obj, nil
		}},
	}
	if o.Events {
		read[&eventsv1.Event{}] = cache.ByObject{
			Field:     fields.OneTermEqualSelector("regarding.apiVersion", v1alpha1.GroupVersion.String()),
			Transform: cache.TransformStripManagedFields(),
		}
	}
	return read
}

// InstanceEvents returns a cache of the Events about instances of platforms, of any kind, which the manager starts.
// Its own cache selects other Events, and a cache has one selector for each kind. Instances have copies of the
// Events of their graphs, too; those of pequod-manager are about nothing else.
func InstanceEvents(mgr manager.Manager) (cache.Cache, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&eventsv1.Event{}: {
			Field: fields.AndSelectors(
				fields.OneTermEqualSelector("reportingController", v1alpha1.ManagerProgram),
				fields.OneTermNotEqualSelector("regarding.apiVersion", v1alpha1.GroupVersion.String()),
			),
			Transform: cache.TransformStripManagedFields(),
		}},
	})
	if err != nil {
		return nil, err
	}
	return c, mgr.Add(c)
}

// slim returns what is kept of a graph.
func slim(rg *v1alpha1.ResourceGraph, nodes bool) *v1alpha1.ResourceGraph {
	kept := &v1alpha1.ResourceGraph{TypeMeta: rg.TypeMeta}
	kept.Name, kept.Namespace, kept.UID, kept.ResourceVersion = rg.Name, rg.Namespace, rg.UID, rg.ResourceVersion
	kept.Labels = maps.Clone(rg.Labels)
	maps.DeleteFunc(kept.Labels, func(name, _ string) bool { return !strings.Contains(name, ".toolkit.fluxcd.io/") })
	if by := rg.Annotations[v1alpha1.AnnotationAppliedBy]; by != "" {
		kept.Annotations = map[string]string{v1alpha1.AnnotationAppliedBy: by}
	}
	kept.Status.History = rg.Status.History
	if !nodes {
		return kept
	}
	kept.Generation, kept.Status.NodeStates = rg.Generation, rg.Status.NodeStates
	for _, n := range rg.Spec.Graph.Nodes {
		node := v1alpha1.Node{ID: n.ID, ExternalRef: n.ExternalRef}
		if n.Resource != nil {
			var identity metav1.PartialObjectMetadata
			// An object that can't be read has no kind here; the applier refuses it.
			_ = json.Unmarshal(n.Resource.Raw, &identity)
			raw, err := json.Marshal(map[string]any{
				"apiVersion": identity.APIVersion, "kind": identity.Kind,
				"metadata": map[string]string{"name": identity.Name, "namespace": identity.Namespace},
			})
			if err == nil {
				node.Resource = &runtime.RawExtension{Raw: raw}
			}
		}
		kept.Spec.Graph.Nodes = append(kept.Spec.Graph.Nodes, node)
	}
	return kept
}
