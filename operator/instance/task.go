package instance

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
)

// memory is what a controller remembers of an instance between two reconciliations. Only one
// of them runs at a time for an instance.
type memory struct {
	rendering rendering
	forecast  forecast
	// instance is the instance as the informer shows it, and member as rollouts see it, or nil. The
	// mutex of the kind guards both.
	instance *unstructured.Unstructured
	member   *member
	// written is the graph as this process wrote it, at the time writtenAt.
	written   *graphView
	writtenAt time.Time
	// hidden is set if the graph exists although the watch doesn't show it: it may have another origin.
	hidden bool
	// status is the status as this process wrote it at statusAt, with the version that the
	// instance got by that. It is nil if the informer shows a later version.
	status        *status
	statusVersion string
	statusAt      time.Time
	// refusedStatus are the fields of #Status that the API server has refused.
	refusedStatus *refusedStatus
	// failures counts the reconciliations in a row that could not make the graph what the
	// instance demands because of a failed request.
	failures int
	// reported is the last refusal that was an Event, and counted are the violations that were
	// counted last.
	reported refusal
	counted  counted
}

// counted are violations of a generation, by their severity as in [refusal].
type counted struct {
	generation int64
	violations [problem.Note + 1]int
}

// task is one reconciliation of an instance.
type task struct {
	*kind
	// latest is the platform as it is, and chosen the version that the instance has.
	latest, chosen *catalog.Entry
	instance       *unstructured.Unstructured // shared; it isn't changed
	memory         *memory
	stored         *status
	// requested is the last request for a reconciliation, or "".
	requested string
}

// rendering is the result of the last rendering of an instance.
type rendering struct {
	// input identifies the input of the rendering.
	input inputDigest
	// refusal is set if there is no graph.
	refusal *refusal
	// spec is the digest of the graph's spec.
	spec specDigest
	// graph is the graph. It is dropped when it was written or compared.
	graph *v1alpha1.ResourceGraph
	// failures counts the renderings of this input in a row that failed for a reason that may
	// pass, and retry is when to try again.
	failures int
	retry    time.Time
}

// graphKey returns the namespace and name of the instance's graph.
func (t *task) graphKey() types.NamespacedName {
	in := t.instance
	namespace := in.GetNamespace()
	if t.chosen.Names.Scope == v1alpha1.ScopeCluster {
		namespace, _, _ = unstructured.NestedString(in.Object, "graphNamespace")
	}
	return types.NamespacedName{Namespace: namespace, Name: v1alpha1.GraphName(t.group.Group, t.group.Kind, in.GetNamespace(), in.GetName())}
}

// source returns the key by which graphs name the instance.
func (t *task) source() sourceKey {
	return sourceKey{t.group, types.NamespacedName{Namespace: t.instance.GetNamespace(), Name: t.instance.GetName()}}
}
