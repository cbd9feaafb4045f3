package source

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
	"github.com/pequod-io/pequod/internal/source"
)

// state returns what sets conditions of a status.
func (s *session) state(status *v1alpha1.InstanceSourceStatus) conditions.Writer {
	return conditions.Writer{To: &status.Conditions, Generation: s.source.Generation, Now: s.now}
}

// succeeded returns the status of an InstanceSource whose artifact was rendered from the revision
// of its source.
func (s *session) succeeded(a *meta.Artifact) *v1alpha1.InstanceSourceStatus {
	status, r := s.next(), s.memory.result
	status.ObservedSourceRevision, status.Instances = r.revision, r.instances
	status.Artifact = &v1alpha1.InstanceArtifact{Revision: a.Revision, Digest: a.Digest}
	s.state(status).Ready(reasonSucceeded, fmt.Sprintf("stored artifact for revision %s: %s", r.revision, source.Count(r.instances, "instance")))
	return status
}

// progressing returns the status during the first rendering, which can take minutes.
func (s *session) progressing(revision string) *v1alpha1.InstanceSourceStatus {
	status := s.source.Status.DeepCopy()
	status.ObservedGeneration = s.source.Generation
	s.state(status).State(metav1.ConditionUnknown, reasonProgressing, "rendering revision "+revision, v1alpha1.ConditionReconciling)
	return status
}

// failed returns the status after a failure. The last artifact stays.
func (s *session) failed(f *failure) *v1alpha1.InstanceSourceStatus {
	status := s.next()
	s.state(status).Failed(f.stalled, f.reason, f.message)
	return status
}

// suspended returns the status of a suspended InstanceSource. It still describes the last rendering,
// but nothing is in progress.
func (s *session) suspended() *v1alpha1.InstanceSourceStatus {
	status := s.source.Status.DeepCopy()
	status.ObservedGeneration = s.source.Generation
	if status.Artifact == nil {
		s.state(status).State(metav1.ConditionFalse, reasonSuspended, "spec.suspend is set", "")
	}
	apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	return status
}

// next returns a copy of the status for the current generation and request.
func (s *session) next() *v1alpha1.InstanceSourceStatus {
	status := s.source.Status.DeepCopy()
	status.ObservedGeneration, status.LastHandledReconcileAt = s.source.Generation, s.requested
	return status
}

// writeStatus writes the status if it has changed, and emits an Event about the change. The error is
// a conflict if the InstanceSource was changed since it was read.
func (s *session) writeStatus(ctx context.Context, next *v1alpha1.InstanceSourceStatus) error {
	if equality.Semantic.DeepEqual(&s.source.Status, next) {
		return nil
	}
	before := s.source.DeepCopy()
	s.source.Status = *next
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Status().Patch(ctx, s.source, patch, client.FieldOwner(v1alpha1.ManagerProgram)); err != nil {
		return err
	}
	s.report(&before.Status, next)
	return nil
}

// report emits an Event about a new artifact or a new failure.
func (s *session) report(before, after *v1alpha1.InstanceSourceStatus) {
	was, is := ready(before), ready(after)
	switch {
	case is.Status == metav1.ConditionTrue && (before.Artifact == nil || *before.Artifact != *after.Artifact):
		s.emit(corev1.EventTypeNormal, "NewArtifact", is.Message)
	case is.Status == metav1.ConditionTrue && was.Status != metav1.ConditionTrue:
		s.emit(corev1.EventTypeNormal, is.Reason, is.Message)
	case is.Status == metav1.ConditionFalse && is.Reason != reasonSuspended && (was.Reason != is.Reason || was.Message != is.Message):
		s.emit(corev1.EventTypeWarning, is.Reason, is.Message)
	}
}

func (s *session) emit(severity, reason, note string) {
	event.Emit(s.events, v1alpha1.GroupVersion.WithKind("InstanceSource"), s.source, severity, reason, "Render", note)
}

// ready returns the condition Ready, or a zero one.
func ready(status *v1alpha1.InstanceSourceStatus) metav1.Condition {
	if c := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}
