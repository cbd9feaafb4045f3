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
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// request sets an annotation of one object because of one message.
type request struct {
	step       *step
	annotation string
	when       v1alpha1.ReceiverExpression
	// object is the object as it fulfilled the condition after the message had arrived, or nil.
	object *unstructured.Unstructured

	outcome outcome
	err     error
}

// outcome is the result of a request.
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
	key := objects.name + " " + name
	if err := s.requests.join(ctx, key, maxBatch, r, func(ctx context.Context, all []*request) {
		unlock := s.locks.lock(s.namespace + "/" + name)
		defer unlock()
		w := &writing{resource: objects, name: name, all: all}
		last, known := s.versions.take(key)
		if w.perform(ctx, last, known); w.stored != nil {
			s.versions.put(key, versionOf(w.stored, ""))
		}
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

// writing performs the requests of one object in one write.
type writing struct {
	resource
	name string
	all  []*request
	// read is the object if it was read for these requests, or nil.
	read *unstructured.Unstructured
	// stored is the object as it was written, or nil.
	stored *unstructured.Unstructured
}

// perform begins with the newest version that is known, and reads the object after a conflict. A version
// that was not read may be too old: it doesn't show that all requests are repetitions.
func (w *writing) perform(ctx context.Context, last version, known bool) {
	unread := false
	for _, r := range w.all {
		if r.object == nil {
			unread = unread || r.when != ""
		} else if listed := versionOf(r.object, ""); !known || resourceversion.Older(last.resourceVersion, listed.resourceVersion) {
			last, known = listed, true
		}
	}
	for try := 0; ; try++ {
		var err error
		if try > 0 || unread || !known {
			if w.read, err = w.client.Get(ctx, w.name, metav1.GetOptions{}); err == nil {
				last = versionOf(w.read, "")
			}
		}
		if err == nil {
			err = w.write(ctx, last)
		}
		switch {
		case err == nil && (w.stored != nil || w.read != nil):
			return
		case err != nil && (!apierrors.IsConflict(err) || try == maxConflicts):
			for _, r := range w.all {
				if r.outcome != unselected {
					r.err = err
				}
			}
			return
		}
	}
}

// write writes on top of a version, unless all requests are repetitions or about other objects.
func (w *writing) write(ctx context.Context, last version) error {
	received := last.received
	annotations := map[string]any{}
	for _, r := range w.all {
		r.outcome, r.err = unselected, nil
		if w.read != nil { // otherwise the object was selected
			selected, err := r.step.selected(r.when, w.read)
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
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": last.resourceVersion, "annotations": annotations}})
	if err != nil {
		return err
	}
	w.stored, err = w.client.Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		w.stored = nil
	}
	return err
}
