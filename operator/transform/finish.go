package transform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/roles"
)

// finish deletes what the Transform generated, and removes the finalizer. Transforms of
// namespaces that are not allowed any more leave everything behind.
func (s *session) finish(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(s.t, v1alpha1.ManagerFinalizer) {
		return reconcile.Result{}, nil
	}
	if s.allowed(s.t.Namespace) {
		keepRights := false
		if s.t.Spec.CRDDeletionPolicy == v1alpha1.DeletionOrphan {
			if err := s.endConversion(ctx); err != nil {
				return s.hindered(ctx, err)
			}
			var err error
			if keepRights, err = s.orphans(ctx); err != nil {
				return s.hindered(ctx, err)
			}
		} else {
			b, err := s.removeGenerated(ctx)
			if err != nil {
				return s.hindered(ctx, err)
			}
			if b != nil {
				return s.waitFor(ctx, b)
			}
		}
		if !keepRights && !s.RenderOnly {
			if err := s.roles.Apply(ctx, s.key, nil); err != nil {
				return s.hindered(ctx, err)
			}
		}
	}
	before := s.t.DeepCopy()
	controllerutil.RemoveFinalizer(s.t, v1alpha1.ManagerFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Patch(ctx, s.t, patch, client.FieldOwner(v1alpha1.ManagerProgram)); err != nil {
		return reconciling.Written(reconcile.Result{}, err)
	}
	return reconcile.Result{}, s.forget(ctx, s.key)
}

// hindered writes which error keeps a deleted Transform, and returns the error: the deletion is
// repeated with a backoff.
func (s *session) hindered(ctx context.Context, err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || ctx.Err() != nil {
		return reconciling.Again(err)
	}
	next := s.t.Status.DeepCopy()
	s.blockedBy(next, &blocked{reason: reasonDeletionFailed, message: "what the Transform generated can't be deleted, which is repeated: " + err.Error()})
	_, failed := reconciling.Written(reconcile.Result{}, s.writeStatus(ctx, next))
	return reconcile.Result{}, errors.Join(err, failed)
}

// orphans reports whether graphs or instances outlive the Transform that need its rights: graphs
// are still executed, and delete their objects with their instance.
func (s *session) orphans(ctx context.Context) (bool, error) {
	if !s.generates() || s.t.Status.GeneratedCRD == "" {
		return false, nil
	}
	s.Catalog.Delete(s.key) // so that no graph is added
	graph, err := s.graphsExist(ctx)
	if err != nil {
		return false, err
	}
	if graph == "" {
		live, err := s.definition(ctx, s.t.Status.GeneratedCRD)
		if err != nil || live == nil || !definitions.Applied(live, s.t) || !definitions.Established(live) {
			return false, err
		}
		if b, err := s.instancesExist(ctx, live); b == nil || err != nil {
			return false, err
		}
	}
	s.emit(corev1.EventTypeNormal, "RightsKept", "Delete", "service account "+roles.Account(s.Namespace, s.key).String()+" and its roles stay for graphs of orphaned instances")
	return true, nil
}

// waitFor writes why a deleted Transform waits. Its instances are reconciled as long as there
// are any.
func (s *session) waitFor(ctx context.Context, b *blocked) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: b.after}
	if b.reason == reasonInstances {
		// After a restart the platform is not listed. What the instances had is better than what
		// a reference means by now.
		err := s.keep(ctx)
		if err == nil && s.Catalog.Of(s.key) == nil {
			err = s.list(ctx)
		}
		if err == nil {
			err = s.explain(ctx, b)
		}
		if err != nil {
			return reconciling.Again(err)
		}
		if s.Catalog.Of(s.key) == nil {
			result = s.after(b)
		}
	}
	next := s.t.Status.DeepCopy()
	s.blockedBy(next, b)
	return reconciling.Written(result, s.writeStatus(ctx, next))
}

// removeGenerated deletes the CRD, and waits for the graphs of its instances: they are deleted
// with the rights of the Transform. It returns nil when both are gone.
func (s *session) removeGenerated(ctx context.Context) (*blocked, error) {
	if s.t.Status.GeneratedCRD == "" {
		return nil, nil
	}
	if b, err := s.removeDefinition(ctx); b != nil || err != nil {
		return b, err
	}
	return s.removeGraphs(ctx)
}

// removeDefinition deletes the CRD when no instance exists. It returns nil when the CRD is
// gone, or is not the Transform's.
func (s *session) removeDefinition(ctx context.Context) (*blocked, error) {
	name := s.t.Status.GeneratedCRD
	live, err := s.definition(ctx, name)
	if err != nil || live == nil || !definitions.Applied(live, s.t) {
		return nil, err
	}
	if slices.ContainsFunc(s.generating(ctx, name), func(other v1alpha1.Transform) bool {
		return other.UID != s.t.UID && s.allowed(other.Namespace) && !s.precedes(&other)
	}) {
		return nil, nil
	}
	if s.claims.take(name, s.key) != s.key {
		return nil, nil
	}
	if !live.DeletionTimestamp.IsZero() {
		return deleting(name), nil
	}
	// A kind that is not served has no instances.
	if definitions.Established(live) {
		if b, err := s.instancesExist(ctx, live); b != nil || err != nil {
			return b, err
		}
	}
	// The controllers of the kind end before it is gone.
	s.Catalog.Delete(s.key)
	if err := s.instances.forget(ctx, s.key); err != nil {
		return nil, err
	}
	// Preconditions keep a CRD that was deleted and created again meanwhile, or adopted.
	same := client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
	if err := client.IgnoreNotFound(s.client.Delete(ctx, live, same)); err != nil {
		return nil, err
	}
	return deleting(name), nil
}

// instancesExist returns the block for instances that exist. Their deletion has the Transform
// reconciled again.
func (s *session) instancesExist(ctx context.Context, live *apiextensionsv1.CustomResourceDefinition) (*blocked, error) {
	const orphan = ", or set spec.crdDeletionPolicy to Orphan"
	resource := schema.GroupResource{Group: live.Spec.Group, Resource: live.Spec.Names.Plural}
	b, err := s.missingRights(ctx, resource)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Group: live.Spec.Group, Version: definitions.Served(live), Kind: live.Spec.Names.Kind}
	var counts map[string]int
	if b == nil {
		if counts, err = s.instances.namespaces(ctx, kind, s.key, true); errors.Is(err, errNotListed) {
			b = s.notListed("", resource)
		} else if err != nil {
			return nil, err
		}
	}
	if b != nil {
		// Nobody knows whether there are instances, which would be deleted with the CRD.
		b.condition, b.message = "", "the Transform is being deleted when no instance exists: "+b.message+orphan
		return b, nil
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		// The watch may not have seen the last one.
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(live.Spec.Names.ListKind))
		if err := s.api.List(ctx, list, client.Limit(1)); err != nil {
			return nil, err
		}
		total = len(list.Items)
	}
	if total == 0 {
		return nil, nil
	}
	text := fmt.Sprintf("%d instances of %s exist in %d namespaces", total, kind.Kind, len(counts))
	if total == 1 {
		text = "1 instance of " + kind.Kind + " exists"
	}
	return &blocked{reason: reasonInstances, message: text + ": delete them" + orphan}, nil
}

// deleting returns the block for a CRD whose deletion was requested. An event continues.
func deleting(name string) *blocked {
	return &blocked{reason: reasonDeleting, message: "CustomResourceDefinition " + name + " is being deleted"}
}
