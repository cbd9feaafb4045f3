package reaction

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// scale applies a number of replicas.
func (r *Reactor) scale(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.ScaleReaction) (string, error) {
	apiVersion := cmp.Or(do.APIVersion, "apps/v1")
	objects, err := r.objects(m, apiVersion, do.Kind)
	if err != nil {
		return "", err
	}
	of := target{m, objects, apiVersion, do.Kind, do.Name}
	if err := r.unscaled(ctx, of); err != nil {
		return "", err
	}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": do.Name},
		"spec": map[string]any{"replicas": int64(do.Replicas)},
	}}
	if err := r.apply(ctx, of, scale, "scale"); err != nil {
		return "", err
	}
	return fmt.Sprintf("scaled %s %s to %d", do.Kind, do.Name, do.Replicas), nil
}

// patch applies fields of an object.
func (r *Reactor) patch(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.PatchReaction) (string, error) {
	objects, err := r.objects(m, do.APIVersion, do.Kind)
	if err != nil {
		return "", err
	}
	live, err := objects.Get(ctx, do.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("%s %s: %s", do.Kind, do.Name, identity.Reason(err))
	}
	patch := &unstructured.Unstructured{}
	if err := json.Unmarshal(do.Patch.Raw, &patch.Object); err != nil {
		return "", fmt.Errorf("patch: %w", err)
	}
	patch.SetAPIVersion(do.APIVersion)
	patch.SetKind(do.Kind)
	patch.SetName(do.Name)
	patch.SetUID(live.GetUID()) // an object that is gone isn't made again
	of := target{m, objects, do.APIVersion, do.Kind, do.Name}
	if _, scales, _ := unstructured.NestedFieldNoCopy(patch.Object, "spec", "replicas"); scales {
		if err := r.unscaled(ctx, of); err != nil {
			return "", err
		}
	}
	if err := r.apply(ctx, of, patch); err != nil {
		return "", err
	}
	return fmt.Sprintf("patched %s %s", do.Kind, do.Name), nil
}

// target is the object that fields are applied to, by a Monitor.
type target struct {
	monitor                *v1alpha1.Monitor
	objects                dynamic.ResourceInterface
	apiVersion, kind, name string
}

// unscaled returns an error if an autoscaler sets the replicas of an object.
func (r *Reactor) unscaled(ctx context.Context, t target) error {
	client, err := r.Accounts.Dynamic(t.monitor.Namespace, t.monitor.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	return unscaled(ctx, client, t.monitor.Namespace, t.apiVersion, t.kind, t.name)
}

// apply applies fields. It takes over those of other owners that don't take them back.
func (r *Reactor) apply(ctx context.Context, t target, fields *unstructured.Unstructured, subresource ...string) error {
	_, err := t.objects.Apply(ctx, t.name, fields, metav1.ApplyOptions{FieldManager: fieldManager}, subresource...)
	if !apierrors.IsConflict(err) {
		if err != nil {
			return fmt.Errorf("%s %s: %s", t.kind, t.name, identity.Reason(err))
		}
		return nil
	}
	conflicts := conflictsOf(err)
	if len(conflicts) == 0 {
		return fmt.Errorf("%s %s: %w", t.kind, t.name, err)
	}
	if err := r.judge(ctx, t, conflicts); err != nil {
		return fmt.Errorf("%s %s: %w", t.kind, t.name, err)
	}
	_, err = t.objects.Apply(ctx, t.name, fields, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}, subresource...)
	if err != nil {
		return fmt.Errorf("%s %s: %s", t.kind, t.name, identity.Reason(err))
	}
	return nil
}

// conflict is a field with another owner.
type conflict struct{ field, manager string }

// conflictsOf returns the fields that others own, by the error of an apply.
func conflictsOf(err error) []conflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var all []conflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			return nil
		}
		_, manager, _ := strings.Cut(cause.Message, `conflict with "`)
		manager, _, _ = strings.Cut(manager, `"`)
		all = append(all, conflict{strings.TrimPrefix(cause.Field, "."), manager})
	}
	return all
}

// requestedBy is the text before the time in the annotation that requests a reconciliation.
const requestedBy = "monitor "

// reconcile requests a reconciliation of an object.
func (r *Reactor) reconcile(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.ReconcileReaction, on monitor.Occasion) (string, error) {
	objects, err := r.objects(m, cmp.Or(do.APIVersion, v1alpha1.GroupVersion.String()), do.Kind)
	if err != nil {
		return "", err
	}
	// The same value if the reaction is repeated, so it is one request.
	value := requestedBy + m.Name + " " + on.Rule + " " + on.At.UTC().Format(time.RFC3339Nano)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		v1alpha1.AnnotationReconcileRequestedAt: value,
	}}})
	if err != nil {
		return "", err
	}
	if _, err := objects.Patch(ctx, do.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return "", fmt.Errorf("%s %s: %s", do.Kind, do.Name, identity.Reason(err))
	}
	return fmt.Sprintf("requested a reconciliation of %s %s", do.Kind, do.Name), nil
}
