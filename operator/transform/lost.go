package transform

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/roles"
)

// Lost returns a function that returns why the objects of a graph that is being deleted must
// stay, or "". Deleting a generated CRD deletes all instances, and with them their graphs. That
// is an accident more often than a decision to delete all workloads of the platform, which is
// made by deleting the instances or the Transform. The first reader is the manager's cache, and
// the second one reads from the API server.
func Lost(cached, api client.Reader) func(context.Context, *v1alpha1.ResourceGraph) (string, error) {
	return func(ctx context.Context, rg *v1alpha1.ResourceGraph) (string, error) {
		if metav1.GetControllerOf(rg) == nil {
			return "", nil
		}
		name, err := definitionOf(ctx, cached, rg)
		if err != nil || name == "" {
			return "", err
		}
		// The API server marks the CRD before it deletes the instances, so a read that begins after
		// the deletion of their graph was seen is reliable.
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err = api.Get(ctx, client.ObjectKey{Name: name}, live)
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return "", err
		case err == nil && live.DeletionTimestamp == nil && !rg.CreationTimestamp.Before(&live.CreationTimestamp),
			err == nil && live.DeletionTimestamp != nil && rg.DeletionTimestamp.Before(live.DeletionTimestamp):
			return "", nil
		}
		return "the CustomResourceDefinition " + name + " was deleted, and the instance with it", nil
	}
}

// definitionOf returns the name of the CRD of the instance that a graph was rendered from, or ""
// if its Transform is being deleted: then the manager or its user deletes the CRD on purpose.
func definitionOf(ctx context.Context, cached client.Reader, rg *v1alpha1.ResourceGraph) (string, error) {
	source := schema.FromAPIVersionAndKind(rg.Spec.SourceRef.APIVersion, rg.Spec.SourceRef.Kind)
	var all v1alpha1.TransformList
	if err := cached.List(ctx, &all); err != nil {
		return "", err
	}
	for _, t := range all.Items {
		_, group, _ := strings.Cut(t.Status.GeneratedCRD, ".")
		if group != source.Group || v1alpha1.LabelValue(t.Name) != rg.Labels[v1alpha1.LabelTransform] {
			continue
		}
		if !t.DeletionTimestamp.IsZero() {
			return "", nil
		}
		return t.Status.GeneratedCRD, nil
	}
	// The Transform has left the CRD and the instances behind.
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := cached.List(ctx, &crds); err != nil {
		return "", err
	}
	for _, crd := range crds.Items {
		if crd.Spec.Group == source.Group && crd.Spec.Names.Kind == source.Kind {
			return crd.Name, nil
		}
	}
	return "of " + source.GroupKind().String(), nil // which doesn't exist
}

// lost gives up the graphs of the instances that were deleted with the CRD by others. It returns a
// block until they are gone: if the CRD existed again, they would look like graphs of instances
// that were deleted by themselves.
func (s *session) lost(ctx context.Context, name string, live *apiextensionsv1.CustomResourceDefinition) (*blocked, error) {
	if s.t.Status.GeneratedCRD != name || live != nil && (live.DeletionTimestamp.IsZero() || !definitions.Applied(live, s.t)) {
		return nil, nil
	}
	graphs := 0
	err := s.eachGraph(ctx, func(g *v1alpha1.ResourceGraph) (bool, error) {
		if metav1.GetControllerOf(g) == nil || !roles.IsAccount(s.Namespace, s.key, g.Annotations[v1alpha1.AnnotationAccount]) {
			return true, nil
		}
		graphs++
		return true, s.removeGraph(ctx, g)
	})
	if err != nil {
		return nil, err
	}
	next := s.t.Status.DeepCopy()
	known := apimeta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionInstancesLost)
	if graphs == 0 {
		if known || next.Instances == nil || next.Instances.Total == 0 {
			return nil, nil
		}
		graphs = next.Instances.Total // they are gone already, for example while no manager ran
	}
	s.Catalog.Delete(s.key) // the controller of the kind ends, and no graph is added
	if !known {
		fate := "stay in the cluster without one"
		if s.RenderOnly {
			fate = "are deleted by pequod-applier"
		}
		s.state(next).Set(v1alpha1.ConditionInstancesLost, metav1.ConditionTrue, reasonDefinitionDeleted, fmt.Sprintf(
			"CustomResourceDefinition %s was deleted, and all instances with it; the objects of %d graphs %s", name, graphs, fate))
	}
	b := &blocked{
		condition: v1alpha1.ConditionCRDGenerated, reason: reasonInstancesLost, stalled: true, after: s.Backoff,
		message: condition(next, v1alpha1.ConditionInstancesLost).Message + ": their graphs are being given up, then the CustomResourceDefinition is applied again",
	}
	s.blockedBy(next, b)
	return b, s.writeStatus(ctx, next)
}

// stillLost returns the block for instances that were lost, or nil if there are none.
func (s *session) stillLost() *blocked {
	c := apimeta.FindStatusCondition(s.t.Status.Conditions, v1alpha1.ConditionInstancesLost)
	if c == nil || s.found(c) {
		return nil
	}
	return &blocked{condition: v1alpha1.ConditionReady, reason: reasonInstancesLost, stalled: true, message: c.Message +
		": apply the instances again, which take their objects over; or accept the loss with the annotation " + v1alpha1.AnnotationReconcileRequestedAt}
}
