package cluster

import (
	"context"
	"strings"

	"github.com/fluxcd/pkg/ssa"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// observed identifies an object in the state in which the engine decided to
// delete or release it.
type observed struct {
	uid     types.UID
	version string // resourceVersion; "" accepts any
	owner   string // label selector of the graph that owned the object
	kept    string // why the object is released, if an annotation or label is the reason
}

// stillOwned returns an error if the live object is another one than the observed
// one, or if it has changed and no longer carries the graph's labels.
func (o observed) stillOwned(live *unstructured.Unstructured) error {
	if live == nil || live.GetUID() != o.uid {
		return errReplaced
	}
	owner, err := labels.Parse(o.owner)
	if err != nil {
		return err
	}
	if live.GetResourceVersion() != o.version && !owner.Matches(labels.Set(live.GetLabels())) {
		return errOwnerChanged
	}
	return nil
}

// errOwnerChanged is returned when an object has left the graph since the engine
// observed it.
var errOwnerChanged = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was changed since, and isn't the graph's any more"}

// errKeepChanged is returned when an object that is to be deleted got an annotation
// that forbids it, or an object that is released because of one lost it.
var errKeepChanged = &engine.Failure{Reason: engine.ReasonKeepChanged, Message: "was annotated since in another way"}

// release gives up the ownership of an object without deleting it. If to is set,
// the object gets the labels of that graph. Otherwise the graph's fields are given
// up too, so that no later apply by the graph's manager removes them. A claim on the
// object has then been met, or has no object any more.
func (c *Client) release(ctx context.Context, a address, observed observed, to *inventory.Owner) error {
	live, err := c.get(ctx, a)
	if err != nil {
		return err
	}
	if err := observed.stillOwned(live); err != nil {
		return err
	}
	if observed.kept != "" && graph.KeepReason(live.Object) == "" {
		return errKeepChanged
	}
	patch := []jsonPatchOperation{{"replace", "/metadata/labels", releasedLabels(live, to)}}
	if annotations := live.GetAnnotations(); annotations[v1alpha1.AnnotationClaimedBy] != "" {
		delete(annotations, v1alpha1.AnnotationClaimedBy)
		patch = append(patch, jsonPatchOperation{"replace", "/metadata/annotations", annotations})
	}
	if to == nil {
		if _, err := c.migrate(ctx, a, live, false); err != nil {
			return err
		}
		releaseFields(live)
		patch = append(patch, jsonPatchOperation{"replace", "/metadata/managedFields", live.GetManagedFields()})
	}
	// A write in between makes the patch a conflict.
	patch = append(patch, jsonPatchOperation{"replace", "/metadata/resourceVersion", live.GetResourceVersion()})
	_, _, err = c.patch(ctx, a, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: engine.FieldManager})
	return err
}

// releasedLabels returns the labels of an object without those of its graph, and
// with those of the new owner if there is one.
func releasedLabels(live *unstructured.Unstructured, to *inventory.Owner) map[string]string {
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, v1alpha1.LabelManaged)
	delete(labels, v1alpha1.LabelGraph)
	delete(labels, v1alpha1.LabelGraphNamespace)
	delete(labels, v1alpha1.LabelBucket)
	if labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy {
		delete(labels, v1alpha1.LabelManagedBy)
	}
	if to != nil {
		for name, value := range to.Labels() {
			labels[name] = value
		}
	}
	return labels
}

// releaseFields removes the entries of the graph's managers from the managedFields of an
// object: the default one, and every manager that applied the graph's label.
func releaseFields(obj *unstructured.Unstructured) {
	label := fields.Path{"f:metadata", "f:labels", "f:" + v1alpha1.LabelGraph}
	var released []ssa.FieldManager
	for _, entry := range fields.Entries(obj) {
		if entry.Manager == engine.FieldManager || entry.AppliedBy(entry.Manager) && entry.Owns(label) {
			released = append(released, ssa.FieldManager{Name: entry.Manager, ExactMatch: true, OperationType: metav1.ManagedFieldsOperationType(entry.Operation)})
		}
	}
	for _, patch := range ssa.PatchRemoveFieldsManagers(obj, released) {
		obj.SetManagedFields(patch.Value)
	}
}

// predecessors are field managers that apply whole objects and may have managed an
// object before the graph: kubectl apply, create and replace, Helm, the original
// operator, and other deployment tools. Managers of single changes, such as kubectl
// edit and kubectl scale, are none.
//
// Some are also controllers of kinds of their own, in the API groups with the suffix
// that is their value. Of such objects they own the finalizers and the state, which a
// graph must not take.
var predecessors = map[string]string{
	"kubectl": "", "kubectl-client-side-apply": "", "kubectl-create": "", "kubectl-replace": "", "before-first-apply": "",
	"helm": "", "Helm": "", "pequod-operator": "", "kapp": "", "kapp-server-side-apply": "", "timoni": "", "Terraform": "",
	"pulumi-resource-kubernetes": "",
	"kustomize-controller":       "fluxcd.io", "helm-controller": "fluxcd.io",
	"argocd-controller": "argoproj.io", "argocd-application-controller": "argoproj.io",
}

// predecessorsOf returns a function that reports whether a field manager is a
// predecessor for objects of an API group.
func predecessorsOf(group string) func(manager string) bool {
	return func(manager string) bool {
		if strings.HasPrefix(manager, "pulumi-kubernetes") { // with a random suffix
			return true
		}
		own, ok := predecessors[manager]
		return ok && (own == "" || !strings.HasSuffix(group, own))
	}
}

// takeOver moves the fields of predecessors to a manager in the managedFields of an
// object, as if manager had applied them. It reports whether it changed the object.
//
// Package ssa would merge the fields into an entry of a subresource, and would keep an
// entry of manager that follows one of a predecessor, beside the merged one.
func takeOver(obj *unstructured.Unstructured, manager string, isPredecessor func(manager string) bool) (bool, error) {
	var own, others, subresources []metav1.ManagedFieldsEntry
	var former []ssa.FieldManager
	for _, entry := range obj.GetManagedFields() {
		switch {
		case entry.Subresource != "":
			subresources = append(subresources, entry)
		case entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply:
			own = append(own, entry)
		default:
			others = append(others, entry)
			if isPredecessor(entry.Manager) {
				former = append(former, ssa.FieldManager{Name: entry.Manager, ExactMatch: true, OperationType: entry.Operation})
			}
		}
	}
	whole := &unstructured.Unstructured{Object: map[string]any{}}
	whole.SetManagedFields(append(own, others...))
	patch, err := ssa.PatchReplaceFieldsManagers(whole, former, manager)
	if err != nil || len(patch) == 0 {
		return false, err
	}
	obj.SetManagedFields(append(subresources, patch[0].Value...))
	return true, nil
}
