package effect

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// request is what one message requests of one object.
type request struct {
	step       *step
	annotation string
	when       v1alpha1.ReceiverExpression
	// object fulfils the condition. It is nil if the object wasn't read yet.
	object *unstructured.Unstructured

	outcome outcome
	err     error
}

// outcome is what became of a request.
type outcome int

const (
	undecided  outcome = iota // the object wasn't read
	unselected                // the condition isn't fulfilled
	repeated
	changed
)

// ask sets an annotation of one object to the time, unless it was done for this message. Messages that
// arrive while the object is written share the next write, which has the receipts of all of them.
func (s *step) ask(ctx context.Context, objects resource, name string, r *request) error {
	if err := s.requests.join(ctx, objects.name+" "+name, r, func(ctx context.Context, all []*request) {
		unlock := s.locks.lock(s.namespace + "/" + name)
		defer unlock()
		annotate(ctx, objects, name, all)
	}); err != nil {
		return err
	}
	switch r.outcome {
	case changed:
		s.result.Changed++
	case repeated:
		s.result.Repeated++
	}
	return r.err
}

// annotate performs the requests of one object in one write. After a conflict it reads the object
// again.
func annotate(ctx context.Context, objects resource, name string, all []*request) {
	object := all[len(all)-1].object
	for try := 0; ; try++ {
		read := object == nil
		var err error
		if read {
			object, err = objects.client.Get(ctx, name, metav1.GetOptions{})
		}
		if err == nil {
			err = write(ctx, objects, object, read, all)
		}
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) || try == maxConflicts {
			for _, r := range all {
				if r.outcome != unselected {
					r.err = err
				}
			}
			return
		}
		object = nil
	}
}

// write sets the annotations that are requested of an object. If read is set, the object may be
// another one than that which fulfilled the conditions.
func write(ctx context.Context, objects resource, object *unstructured.Unstructured, read bool, all []*request) error {
	received := object.GetAnnotations()[v1alpha1.AnnotationReceived]
	annotations := map[string]any{}
	for _, r := range all {
		r.outcome, r.err = unselected, nil
		if read || r.object == nil {
			selected, err := r.step.selected(r.when, object)
			if r.err = err; !selected {
				continue
			}
		}
		now := r.step.Now()
		if has(received, r.step.receipt, now) {
			r.outcome = repeated
			continue
		}
		received = add(received, r.step.receipt, now, r.step.order.keep)
		annotations[r.annotation] = now.UTC().Format(time.RFC3339Nano)
		r.outcome = changed
	}
	if len(annotations) == 0 {
		return nil
	}
	annotations[v1alpha1.AnnotationReceived] = received
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": object.GetResourceVersion(), "annotations": annotations}})
	if err != nil {
		return err
	}
	_, err = objects.client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}
