package instance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// graphView has the parts of a ResourceGraph that instances need. It is kept instead of the
// graph, which may be large. It is shared, and not changed once it was made.
type graphView struct {
	metav1.ObjectMeta
	// source is the instance that the graph was rendered from.
	source sourceKey
	// spec is the digest of the spec; see digestOf.
	spec     specDigest
	platform v1alpha1.PlatformRef
	// total is the number of nodes in the spec.
	total int
	state graphState
}

// sourceKey identifies an instance. Its namespace is empty if its kind is cluster-scoped.
type sourceKey struct {
	kind schema.GroupKind
	types.NamespacedName
}

// graphState is the status of a graph.
type graphState struct {
	observed  int64  // generation
	requested string // the request for a reconciliation that was handled
	// ready and failed count the nodes of the observed generation. Degraded nodes count as
	// failed.
	ready, failed int
	// failure is the first failed node in the order of the spec, or nil.
	failure *firstFailure
	// condition is the condition Ready, or nil. stalled is set if Stalled is true.
	condition *metav1.Condition
	stalled   bool
	outputs   map[string]any
}

// specDigest identifies the content of a spec.
type specDigest [sha256.Size]byte

// digestOf returns the digest of a spec as the API server returns it. The field suspend
// is left out: graphs aren't rendered with it, so users may set it.
func digestOf(spec map[string]any) specDigest {
	spec = maps.Clone(spec)
	delete(spec, "suspend")
	raw, err := json.Marshal(spec) // sorts keys
	if err != nil {
		panic(fmt.Sprintf("a decoded object can't be encoded: %v", err)) // JSON values only
	}
	return sha256.Sum256(raw)
}

// specOf returns a rendered spec in the form that the API server returns.
func specOf(rg *v1alpha1.ResourceGraph) (map[string]any, error) {
	raw, err := json.Marshal(rg.Spec)
	if err != nil {
		return nil, err
	}
	var spec map[string]any
	// This package decodes numbers as the API server does.
	err = utiljson.Unmarshal(raw, &spec)
	return spec, err
}

// viewOf is the transformation of the informer of graphs.
func viewOf(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // a view already, or the mark of a deleted object
	}
	v := &graphView{}
	v.ObjectMeta = metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Generation: u.GetGeneration(), DeletionTimestamp: u.GetDeletionTimestamp(), Labels: u.GetLabels(),
		OwnerReferences: u.GetOwnerReferences(),
	}
	for _, key := range []string{v1alpha1.AnnotationReconcileRequestedAt, v1alpha1.AnnotationAccount, v1alpha1.AnnotationAppliedBy} {
		value := u.GetAnnotations()[key]
		if value == "" {
			continue
		}
		if v.Annotations == nil {
			v.Annotations = map[string]string{}
		}
		v.Annotations[key] = value
	}
	spec, _ := u.Object["spec"].(map[string]any)
	v.spec = digestOf(spec)
	var refs struct {
		SourceRef   v1alpha1.ObjectRef   `json:"sourceRef"`
		PlatformRef v1alpha1.PlatformRef `json:"platformRef"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &refs); err != nil {
		return nil, err
	}
	v.platform = refs.PlatformRef
	v.source.kind = schema.FromAPIVersionAndKind(refs.SourceRef.APIVersion, refs.SourceRef.Kind).GroupKind()
	v.source.NamespacedName = types.NamespacedName{Namespace: refs.SourceRef.Namespace, Name: refs.SourceRef.Name}
	ids := nodeIDs(spec)
	v.total = len(ids)
	err := v.readStatus(u, ids)
	return v, err
}

// nodeIDs returns the ids of the nodes of a spec, in their order.
func nodeIDs(spec map[string]any) []string {
	nodes, _, _ := unstructured.NestedFieldNoCopy(spec, "graph", "nodes")
	list, _ := nodes.([]any)
	ids := make([]string, 0, len(list))
	for _, n := range list {
		node, _ := n.(map[string]any)
		id, _ := node["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// readStatus reads the status of a graph with the given nodes.
func (v *graphView) readStatus(u *unstructured.Unstructured, ids []string) error {
	status, _ := u.Object["status"].(map[string]any)
	v.state.outputs, _ = status["outputs"].(map[string]any)
	var read struct {
		ObservedGeneration   int64                         `json:"observedGeneration"`
		ReconcileRequestedAt string                        `json:"reconcileRequestedAt"`
		NodeStates           map[string]v1alpha1.NodeState `json:"nodeStates"`
		Conditions           []metav1.Condition            `json:"conditions"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &read); err != nil {
		return err
	}
	v.state.observed, v.state.requested = read.ObservedGeneration, read.ReconcileRequestedAt
	for i := range read.Conditions {
		switch c := &read.Conditions[i]; c.Type {
		case v1alpha1.ConditionReady:
			v.state.condition = &metav1.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message}
		case v1alpha1.ConditionStalled:
			v.state.stalled = c.Status == metav1.ConditionTrue
		}
	}
	if v.state.observed != v.Generation {
		return nil // the states are those of another spec
	}
	v.countNodes(ids, read.NodeStates)
	return nil
}

// countNodes counts the nodes by their states. Nodes that a long status leaves out are ready.
func (v *graphView) countNodes(ids []string, states map[string]v1alpha1.NodeState) {
	for _, id := range ids {
		state, listed := states[id]
		switch {
		case state.Phase == v1alpha1.NodeReady, !listed && len(states) == v1alpha1.MaxNodeStates:
			v.state.ready++
		case state.Phase == v1alpha1.NodeFailed, state.Phase == v1alpha1.NodeDegraded:
			if v.state.failed++; v.state.failure == nil {
				v.state.failure = &firstFailure{Node: id, Message: state.Message}
			}
		}
	}
	if v.state.failure != nil && v.state.condition != nil {
		v.state.failure.Reason = v.state.condition.Reason
	}
}

// current reports whether the status is about the spec that the graph has.
func (v *graphView) current() bool { return v.state.observed == v.Generation }
