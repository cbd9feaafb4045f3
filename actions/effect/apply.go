package effect

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/expression"
	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// apply applies the object that a message describes.
func (s *step) apply(ctx context.Context, a *v1alpha1.ReceiverApply) error {
	value, err := expression.Eval(overMessage, string(a.Object), s.order.vars)
	if err != nil {
		return refuse("object: %v", err)
	}
	object, err := objectOf(value, s.namespace)
	if err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	if !s.Kinds.allows(kind.GroupKind()) {
		return refuse("kind %s is not allowed; see --receiver-kinds of pequod-actions", kind.GroupKind())
	}
	client, err := s.resource(kind)
	if err != nil {
		return err
	}
	unlock := s.locks.lock(s.namespace + "/" + object.GetName())
	defer unlock()
	for try := 0; ; try++ {
		exists, err := s.write(ctx, client, object.DeepCopy())
		// If the object was made meanwhile, others have its fields. If it was deleted meanwhile, its
		// resourceVersion is a bad request.
		raced := apierrors.IsConflict(err) && (!exists || !conflicts(err)) || exists && apierrors.IsBadRequest(err) && try == 0
		if !raced || try == maxConflicts {
			return err
		}
	}
}

// write applies an object, unless it was done for this message. It reports whether the object was
// there before.
func (s *step) write(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) (exists bool, err error) {
	current, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	var received string
	if exists = err == nil; exists {
		received = current.GetAnnotations()[v1alpha1.AnnotationReceived]
		object.SetResourceVersion(current.GetResourceVersion())
	}
	now := s.Now()
	if has(received, s.receipt, now) {
		s.result.Repeated++
		return exists, nil
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationReceived] = add(received, s.receipt, now, s.order.keep)
	object.SetAnnotations(annotations)
	options := metav1.ApplyOptions{FieldManager: managerOf(s.receiver)}
	_, err = client.Apply(ctx, object.GetName(), object, options)
	if exists && conflictsInReceipts(err) {
		// All Receivers write the annotation. The object still has the resourceVersion that was
		// read, or this write conflicts, too. So nothing else is taken over.
		options.Force = true
		_, err = client.Apply(ctx, object.GetName(), object, options)
	}
	if err != nil {
		return exists, err
	}
	s.result.Changed++
	return exists, nil
}

// objectOf returns the object that an expression has yielded. Its metadata has names, labels and
// annotations only, and its namespace is that of the Receiver.
func objectOf(value any, namespace string) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, refuse("object: %v", err)
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &object.Object); err != nil {
		return nil, refuse("object: yields no object")
	}
	metadata, _, err := unstructured.NestedMap(object.Object, "metadata")
	if err != nil || object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
		return nil, refuse("object: apiVersion, kind and metadata.name are required")
	}
	for name := range metadata {
		switch name {
		case "name", "namespace", "labels", "annotations":
		default:
			return nil, refuse("object: metadata.%s is not allowed", name)
		}
	}
	if is := object.GetNamespace(); is != "" && is != namespace {
		return nil, refuse("object: it is in namespace %s, not in that of the Receiver", is)
	}
	object.SetNamespace(namespace)
	return object, nil
}

// refuse returns the error of a message that never has its effect.
func refuse(format string, args ...any) error {
	return &source.Error{Class: source.Refused, Message: fmt.Sprintf(format, args...)}
}
