package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/fluxowner"
)

// refuseGraph returns why the instance may not write a graph, or nil if it may. The graph may
// be nil. A graph without an owner whose source is the instance was orphaned, and one of a
// former instance of that name isn't deleted yet: both are taken over.
func (t *task) refuseGraph(g *graphView) *refusal {
	if g == nil {
		return nil
	}
	key := g.Namespace + "/" + g.Name
	foreign := func(why string) *refusal {
		return &refusal{reason: reasonGraphExists, message: "ResourceGraph " + key + " exists and " + why}
	}
	owner := metav1.GetControllerOfNoCopy(&g.ObjectMeta)
	switch {
	case g.Labels[v1alpha1.LabelOperator] == "":
		return foreign("was not made by pequod-manager; delete it with its objects or, to keep them, set spec.suspend first")
	case owner != nil && (owner.Kind != t.instance.GetKind() || owner.Name != t.instance.GetName()):
		return foreign("belongs to " + owner.Kind + " " + owner.Name)
	case owner == nil && g.source.Name != "" && g.source != t.source():
		return foreign("was rendered from " + g.source.kind.String() + " " + g.source.String())
	case g.DeletionTimestamp != nil:
		return &refusal{reason: reasonFormerGraph, message: "ResourceGraph " + key + " is being deleted; the next one is written after that", retried: true}
	}
	return nil
}

// upToDate reports whether a graph is as it would be written now.
func (t *task) upToDate(g *graphView) bool {
	return g.spec == t.memory.rendering.spec && g.Labels[v1alpha1.LabelOperator] == t.operator() && g.Annotations[v1alpha1.AnnotationAccount] == t.chosen.Account.Name && t.owns(g) &&
		g.Annotations[v1alpha1.AnnotationAppliedBy] == fluxowner.Text(t.instance.GetLabels()) &&
		(t.requested == "" || t.requested == t.stored.LastHandledReconcileAt || t.requested == g.Annotations[v1alpha1.AnnotationReconcileRequestedAt])
}

// operator returns the value of the label by which a graph is executed by the manager, or not.
func (t *task) operator() string {
	if t.RenderOnly {
		return v1alpha1.OperatorRenders
	}
	return v1alpha1.OperatorExecutes
}

// owns reports whether the instance is the owner of a graph.
func (t *task) owns(g *graphView) bool {
	owner := metav1.GetControllerOfNoCopy(&g.ObjectMeta)
	return owner != nil && owner.UID == t.instance.GetUID()
}

// stillExists reports whether the instance exists and isn't being deleted, which the informer
// may not show yet. A graph that was deleted with its instance would be made again. With
// --cascade=orphan, the graph loses its owner, and if it got it back it would be deleted
// with all its objects.
func (t *task) stillExists(ctx context.Context) (bool, error) {
	live, err := t.metadata.Resource(t.resource).Namespace(t.instance.GetNamespace()).Get(ctx, t.instance.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the instance: %w", err)
	}
	return live.UID == t.instance.GetUID() && live.DeletionTimestamp == nil, nil
}

// noVersion is a resourceVersion that no object has: etcd's revisions start at 1, and the first write
// makes it 2. An apply with it creates an object, and is a conflict if there is one.
const noVersion = "1"

// writeGraph writes the rendered graph by server-side apply, and remembers a view of it until
// the watch has shown one. A graph that was changed since before was read is a conflict: it may
// have lost its owner.
func (t *task) writeGraph(ctx context.Context, before *graphView) (*graphView, error) {
	rg := t.memory.rendering.graph
	body, err := t.manifest(rg, before)
	if err != nil {
		return nil, err
	}
	stored, err := t.metadata.Resource(graphResource).Namespace(rg.Namespace).Patch(ctx, rg.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: v1alpha1.ManagerProgram, Force: new(true)})
	if err != nil {
		return nil, err
	}
	v := &graphView{
		ObjectMeta: stored.ObjectMeta, source: t.source(), spec: t.memory.rendering.spec,
		platform: rg.Spec.PlatformRef, total: len(rg.Spec.Graph.Nodes),
	}
	v.ManagedFields = nil
	if before != nil && before.UID == v.UID {
		if v.state = before.state; before.Generation != v.Generation {
			v.state.ready, v.state.failed, v.state.failure = 0, 0, nil
		}
	} else {
		v.state.observed = -1
	}
	t.memory.written, t.memory.writtenAt = v, t.now()
	return v, nil
}

// manifest returns a rendered graph as it is applied: with its owner, and the request to
// execute it again if there is one.
func (t *task) manifest(rg *v1alpha1.ResourceGraph, before *graphView) ([]byte, error) {
	spec, err := specOf(rg)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(rg.Labels)
	labels[v1alpha1.LabelOperator] = t.operator()
	meta := map[string]any{
		"name": rg.Name, "namespace": rg.Namespace, "labels": labels,
		"ownerReferences": []any{map[string]any{
			"apiVersion": t.instance.GetAPIVersion(), "kind": t.instance.GetKind(), "name": t.instance.GetName(),
			"uid": t.instance.GetUID(), "controller": true, "blockOwnerDeletion": true,
		}},
	}
	meta["resourceVersion"] = noVersion
	if before != nil {
		meta["uid"], meta["resourceVersion"] = before.UID, before.ResourceVersion
	}
	annotations := map[string]string{v1alpha1.AnnotationRendered: t.memory.rendering.mark()}
	maps.Copy(annotations, rg.Annotations)
	if t.chosen.Account.Name != "" {
		annotations[v1alpha1.AnnotationAccount] = t.chosen.Account.Name
	}
	if by := fluxowner.Text(t.instance.GetLabels()); by != "" {
		annotations[v1alpha1.AnnotationAppliedBy] = by
	}
	if t.requested != "" {
		annotations[v1alpha1.AnnotationReconcileRequestedAt] = t.requested
	}
	meta["annotations"] = annotations
	return json.Marshal(map[string]any{"apiVersion": rg.APIVersion, "kind": rg.Kind, "metadata": meta, "spec": spec})
}

// findGraph reads a graph that the watch doesn't show.
func (t *task) findGraph(ctx context.Context, key types.NamespacedName) (*graphView, error) {
	stored, err := t.metadata.Resource(graphResource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ResourceGraph %s: %w", key, err)
	}
	v := &graphView{ObjectMeta: stored.ObjectMeta, state: graphState{observed: -1}}
	v.ManagedFields = nil
	return v, nil
}

// refusedByServer returns the refusal of a graph that the API server doesn't accept, or nil
// if the error may pass by itself.
func refusedByServer(err error) *refusal {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return &refusal{reason: reasonGraphRefused, message: err.Error()}
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return &refusal{reason: reasonGraphRefused, message: err.Error(), retried: true}
	}
	return nil
}
