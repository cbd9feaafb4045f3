package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/event"
)

// emitWarning emits a Warning Event of the graph about a node or, if node is nil,
// about the graph.
func (r *reporter) emitWarning(reason, action string, node *engine.Status, text string) {
	r.emit(corev1.EventTypeWarning, reason, action, node, text)
}

// emitNormal is emitWarning for Normal Events.
func (r *reporter) emitNormal(reason, action string, node *engine.Status, text string) {
	r.emit(corev1.EventTypeNormal, reason, action, node, text)
}

// emitDrift emits a Normal Event about drift, with the fields that others
// changed, and counts the drift.
func (r *reporter) emitDrift(reason string, node *engine.Status, text string) {
	r.metrics.Drift(r.owner.Namespace, r.owner.Name, node.ID)
	r.emitNormal(reason, "Apply", node, text)
}

// emitHandOver emits a Normal Event of a graph about an object that passed from one
// graph to another.
func (r *reporter) emitHandOver(reason string, graph *v1alpha1.ResourceGraph, object *engine.Status, text string) {
	r.events.Eventf(regarding(graph), relatedObject(object), corev1.EventTypeNormal, reason, "HandOver", "%s", event.Note(text))
}

func regarding(rg *v1alpha1.ResourceGraph) runtime.Object {
	return event.About(v1alpha1.GroupVersion.WithKind("ResourceGraph"), rg)
}

// relatedObject returns a reference to the object of a node.
func relatedObject(node *engine.Status) runtime.Object {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: node.Key.Group, Version: node.Version, Kind: node.Key.Kind})
	obj.SetNamespace(node.Key.Namespace)
	obj.SetName(node.Key.Name)
	return obj
}

// emit emits an Event. The object of a node is its related object: Events that
// regard the same two objects are counted as one, which keeps its first text.
func (r *reporter) emit(kind, reason, action string, node *engine.Status, text string) {
	var related runtime.Object
	if node != nil {
		related = relatedObject(node)
		text = node.Key.String() + text
		if node.ID != "" { // the object didn't leave the graph
			text = "node " + node.ID + ": " + text
		}
	}
	note := event.Note(text)
	r.events.Eventf(regarding(r.graph), related, kind, reason, action, "%s", note)
	if instance := instanceOf(r.graph); instance != nil {
		r.events.Eventf(instance, related, kind, reason, action, "%s", note)
	}
}

// instanceOf returns the instance that a graph was rendered from if it owns the graph, and
// otherwise nil. Its developer looks for Events there, and may not know of the graph.
func instanceOf(rg *v1alpha1.ResourceGraph) *unstructured.Unstructured {
	owner, from := metav1.GetControllerOfNoCopy(rg), rg.Spec.SourceRef
	if owner == nil || owner.Kind != from.Kind || owner.Name != from.Name {
		return nil
	}
	instance := &unstructured.Unstructured{}
	instance.SetAPIVersion(owner.APIVersion)
	instance.SetKind(owner.Kind)
	instance.SetNamespace(from.Namespace)
	instance.SetName(owner.Name)
	instance.SetUID(owner.UID)
	return instance
}
