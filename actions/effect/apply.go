package effect

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// apply applies the object that a message describes.
func (s *step) apply(ctx context.Context, a *v1alpha1.ReceiverApply) error {
	object, objects, err := s.described(a.Object)
	if err != nil {
		return err
	}
	unlock := s.locks.lock(s.namespace + "/" + object.GetName())
	defer unlock()
	return s.put(ctx, objects, object)
}

// described returns the object that a message describes, and the objects of its kind.
func (s *step) described(expr v1alpha1.ReceiverExpression) (*unstructured.Unstructured, resource, error) {
	value, err := expression.Eval(expression.Message(), string(expr), s.order.vars)
	if err != nil {
		return nil, resource{}, refuse("object: %v", err)
	}
	object, err := objectOf(value, s.namespace)
	if err != nil {
		return nil, resource{}, err
	}
	kind := object.GroupVersionKind()
	if !s.Kinds.allows(kind.GroupKind()) {
		return nil, resource{}, refuse("kind %s is not allowed; see --receiver-kinds of pequod-actions", kind.GroupKind())
	}
	objects, err := s.resource(kind)
	return object, objects, err
}

// put applies an object, unless it was done for this message. Most often it is one request: the object
// is new, or it has the version that the last write has left.
func (s *step) put(ctx context.Context, objects resource, object *unstructured.Unstructured) error {
	last, known := s.versions.take(s.written(objects, object))
	exists := known // as far as is known
	if known && has(last.received, s.receipt, s.Now()) {
		known = false // it may have been deleted since
	}
	for try := 0; ; try++ {
		if !exists {
			if err := s.create(ctx, objects, object.DeepCopy()); !conflicts(err) {
				return err
			}
		}
		if !known {
			current, err := objects.client.Get(ctx, object.GetName(), metav1.GetOptions{})
			if exists = !apierrors.IsNotFound(err); !exists && try < maxConflicts { // it was deleted meanwhile
				continue
			}
			if err != nil {
				return err
			}
			last = versionOf(current, s.receiver)
		}
		if has(last.received, s.receipt, s.Now()) {
			s.versions.put(s.written(objects, object), last)
			s.result.Repeated++
			return nil
		}
		err := s.change(ctx, objects, object.DeepCopy(), last)
		// If the object was deleted meanwhile, its resourceVersion is a bad request.
		raced := apierrors.IsConflict(err) && !conflicts(err) || apierrors.IsBadRequest(err) && try == 0
		if !raced || try == maxConflicts {
			return err
		}
		known = false
	}
}

// create applies an object that has no receipts, because it doesn't exist or no Receiver has changed it.
// The error is a conflict if the object has receipts.
func (s *step) create(ctx context.Context, objects resource, object *unstructured.Unstructured) error {
	attempt := rand.Text()[:attemptSize]
	// The attempt is not a receipt, and the next write drops it. It differs from what any other one
	// writes, since the same value would be no conflict.
	received := attempt + " " + add("", s.receipt, s.Now(), s.order.keep)
	return s.write(ctx, objects, object, received, metav1.ApplyOptions{FieldManager: creatorOf(s.receiver, attempt)})
}

// change applies an object on top of a version. If the object has another one, it is a conflict.
func (s *step) change(ctx context.Context, objects resource, object *unstructured.Unstructured, last version) error {
	object.SetResourceVersion(last.resourceVersion)
	received := add(last.received, s.receipt, s.Now(), s.order.keep)
	options := metav1.ApplyOptions{FieldManager: cmp.Or(last.manager, managerOf(s.receiver))}
	err := s.write(ctx, objects, object, received, options)
	if conflictsInReceipts(err) {
		// All Receivers write the annotation. The object still has the resourceVersion that was
		// read, or this write conflicts, too. So nothing else is taken over.
		options.Force = true
		err = s.write(ctx, objects, object, received, options)
	}
	return err
}

// write applies an object with its receipts.
func (s *step) write(ctx context.Context, objects resource, object *unstructured.Unstructured, received string, options metav1.ApplyOptions) error {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationReceived] = received
	object.SetAnnotations(annotations)
	stored, err := objects.client.Apply(ctx, object.GetName(), object, options)
	if err != nil {
		return err
	}
	s.versions.put(s.written(objects, object), versionOf(stored, s.receiver))
	s.result.Changed++
	return nil
}

// written is the name of the version that the Receiver has left of an object.
func (s *step) written(objects resource, object *unstructured.Unstructured) string {
	return objects.name + " " + object.GetName() + " " + s.receiver
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
