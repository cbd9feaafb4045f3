package effect

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/expression"
	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	// maxObjects is the number of objects that one effect may change.
	maxObjects = 500
	// maxConflicts is how often a write is repeated because another client has changed the
	// object.
	maxConflicts = 10
)

// step is one effect of one message.
type step struct {
	*Effects
	client    dynamic.Interface
	namespace string
	receiver  string
	order     order
	receipt   receipt
	result    *Result
}

// reconcile requests a reconciliation of objects.
func (s *step) reconcile(ctx context.Context, r *v1alpha1.ReceiverReconcile) error {
	kind, err := kindOf(r)
	if err != nil {
		return &source.Error{Class: source.Failed, Message: err.Error()}
	}
	annotation := v1alpha1.AnnotationReconcileRequestedAt
	if isFlux(kind.Group) {
		annotation = v1alpha1.AnnotationFluxRequestedAt
	}
	return s.annotate(ctx, kind, &r.ReceiverTarget, annotation)
}

// observe has Actions look at their open runs.
func (s *step) observe(ctx context.Context, t *v1alpha1.ReceiverTarget) error {
	return s.annotate(ctx, v1alpha1.GroupVersion.WithKind("Action"), t, v1alpha1.AnnotationObserveRequestedAt)
}

// resource returns the client of a kind, which must have namespaces.
func (s *step) resource(kind schema.GroupVersionKind) (dynamic.ResourceInterface, error) {
	mapping, err := s.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return nil, &source.Error{Class: source.Failed, Message: fmt.Sprintf("kind %s has no namespaces", kind.Kind)}
	}
	return s.client.Resource(mapping.Resource).Namespace(s.namespace), nil
}

// annotate sets an annotation of the selected objects to the time.
func (s *step) annotate(ctx context.Context, kind schema.GroupVersionKind, t *v1alpha1.ReceiverTarget, annotation string) error {
	client, err := s.resource(kind)
	if err != nil {
		return err
	}
	if t.Name != "" {
		return s.request(ctx, client, t.Name, nil, t.When, annotation)
	}
	selector, err := metav1.LabelSelectorAsSelector(t.Selector)
	if err != nil {
		return &source.Error{Class: source.Failed, Message: err.Error()}
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: maxObjects})
	if err != nil {
		return err
	}
	if list.GetContinue() != "" {
		return &source.Error{Class: source.Failed, Message: fmt.Sprintf("the selector selects more than %d objects", maxObjects)}
	}
	for i := range list.Items {
		err := s.request(ctx, client, list.Items[i].GetName(), &list.Items[i], t.When, annotation)
		if err != nil && !apierrors.IsNotFound(err) { // it was deleted meanwhile
			return err
		}
	}
	return nil
}

// request sets an annotation of one object to the time, unless it was done for this message. The
// object is read if it is nil, and again after a conflict.
func (s *step) request(ctx context.Context, client dynamic.ResourceInterface, name string, object *unstructured.Unstructured, when v1alpha1.ReceiverExpression, annotation string) error {
	unlock := s.locks.lock(s.namespace + "/" + name)
	defer unlock()
	for try := 0; ; try++ {
		if object == nil {
			var err error
			if object, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		selected, err := s.selected(when, object)
		if err != nil || !selected {
			return err
		}
		received := object.GetAnnotations()[v1alpha1.AnnotationReceived]
		now := s.Now()
		if has(received, s.receipt, now) {
			s.result.Repeated++
			return nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": object.GetResourceVersion(),
			"annotations": map[string]any{
				annotation:                  now.UTC().Format(time.RFC3339Nano),
				v1alpha1.AnnotationReceived: add(received, s.receipt, now, s.order.keep),
			},
		}})
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		switch {
		case err == nil:
			s.result.Changed++
			return nil
		case !apierrors.IsConflict(err) || try == maxConflicts:
			return err
		}
		object = nil
	}
}

// selected reports whether an object is one that the message is about.
func (s *step) selected(when v1alpha1.ReceiverExpression, object *unstructured.Unstructured) (bool, error) {
	if when == "" {
		return true, nil
	}
	vars := map[string]any{"object": object.Object}
	for name, value := range s.order.vars {
		vars[name] = value
	}
	pass, err := expression.Bool(overObject, string(when), vars)
	if err != nil {
		return false, &source.Error{Class: source.Refused, Message: fmt.Sprintf("when: %s: %v", object.GetName(), err)}
	}
	return pass, nil
}
