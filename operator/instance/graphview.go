package instance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// sourceOf returns the instance that a graph was rendered from.
func sourceOf(rg *v1alpha1.ResourceGraph) sourceKey {
	ref := rg.Spec.SourceRef
	return sourceKey{
		schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name},
	}
}

// viewOf returns the view of a graph. Before is an earlier view of a graph of that name in the same
// history of the cluster, or nil: if it has the same spec, that isn't digested again.
func viewOf(rg *v1alpha1.ResourceGraph, before *graphView) (*graphView, error) {
	v := &graphView{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rg.Namespace, Name: rg.Name, UID: rg.UID, ResourceVersion: rg.ResourceVersion,
			Generation: rg.Generation, DeletionTimestamp: rg.DeletionTimestamp, Labels: rg.Labels,
			OwnerReferences: rg.OwnerReferences,
		},
		source: sourceOf(rg), platform: rg.Spec.PlatformRef, total: len(rg.Spec.Graph.Nodes),
	}
	for _, key := range []string{v1alpha1.AnnotationReconcileRequestedAt, v1alpha1.AnnotationAccount, v1alpha1.AnnotationAppliedBy, v1alpha1.AnnotationRendered} {
		value := rg.Annotations[key]
		if value == "" {
			continue
		}
		if v.Annotations == nil {
			v.Annotations = map[string]string{}
		}
		v.Annotations[key] = value
	}
	if before != nil && before.UID == v.UID && before.Generation == v.Generation {
		v.spec = before.spec
	} else {
		spec, err := specOf(rg)
		if err != nil {
			return nil, err
		}
		v.spec = digestOf(spec)
	}
	err := v.readStatus(rg)
	return v, err
}

// readStatus reads the status of a graph.
func (v *graphView) readStatus(rg *v1alpha1.ResourceGraph) error {
	read := &rg.Status
	for name, output := range read.Outputs {
		var value any
		// This package decodes numbers as the API server does.
		if err := utiljson.Unmarshal(output.Raw, &value); err != nil {
			return fmt.Errorf("output %s: %w", name, err)
		}
		if v.state.outputs == nil {
			v.state.outputs = make(map[string]any, len(read.Outputs))
		}
		v.state.outputs[name] = value
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
	v.countNodes(rg.Spec.Graph.Nodes, read.NodeStates)
	return nil
}

// countNodes counts the nodes by their states. Nodes that a long status leaves out are ready.
func (v *graphView) countNodes(nodes []v1alpha1.Node, states map[string]v1alpha1.NodeState) {
	for i := range nodes {
		id := nodes[i].ID
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
