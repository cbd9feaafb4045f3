package effect

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// delete deletes the object that a message describes. An object that is gone has no receipts, so the
// UID or the time in the message tells the object from one that was created afterwards.
func (s *step) delete(ctx context.Context, d *v1alpha1.ReceiverDelete) error {
	object, objects, err := s.described(d.Object)
	if err != nil {
		return err
	}
	for field := range object.Object {
		if field != "apiVersion" && field != "kind" && field != "metadata" {
			return refuse("object: %s is not allowed: a deletion needs apiVersion, kind and metadata.name", field)
		}
	}
	uid, before, err := s.condemned(d)
	if err != nil {
		return err
	}
	unlock := s.locks.lock(s.namespace + "/" + object.GetName())
	defer unlock()
	for try := 0; ; try++ {
		current, err := objects.client.Get(ctx, object.GetName(), metav1.GetOptions{})
		gone := apierrors.IsNotFound(err)
		switch {
		case err != nil && !gone:
			return err
		case gone, current.GetDeletionTimestamp() != nil, uid != "" && uid != string(current.GetUID()):
			s.result.Repeated++
			return nil
		case !before.IsZero() && !older(current, before):
			return &source.Error{Class: source.Outdated, Message: fmt.Sprintf("%s %s stays: it was created at %s, not before %s, the time of the message",
				current.GetKind(), current.GetName(), current.GetCreationTimestamp().UTC().Format(time.RFC3339), before.UTC().Format(time.RFC3339))}
		}
		err = objects.client.Delete(ctx, object.GetName(), metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(current.GetUID())), PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
		if err == nil {
			s.result.Changed++
			return nil
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) || try == maxConflicts {
			return err
		}
	}
}

// condemned returns the UID and the time that a message has for an object to delete, or their zero values.
func (s *step) condemned(d *v1alpha1.ReceiverDelete) (uid string, before time.Time, err error) {
	if d.UID != "" {
		uid, err = expression.String(expression.Message(), string(d.UID), s.order.vars)
		if err != nil {
			return "", before, refuse("uid: %v", err)
		}
		if uid == "" {
			return "", before, refuse("uid: is empty")
		}
	}
	if d.Before != "" {
		value, err := expression.Eval(expression.Message(), string(d.Before), s.order.vars)
		if err == nil {
			before, err = timeOf(value)
		}
		if err != nil {
			return "", before, refuse("before: %v", err)
		}
		if ahead := before.Sub(s.Now()); ahead > defaultWindow {
			return "", before, refuse("before: is %s in the future", ahead.Round(time.Second))
		}
	}
	return uid, before, nil
}

// older reports whether an object was created before a time. Kubernetes stores whole seconds, so an object of
// the same second may be newer.
func older(object *unstructured.Unstructured, than time.Time) bool {
	return object.GetCreationTimestamp().Unix() < than.Unix()
}
