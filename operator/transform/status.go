package transform

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
	"github.com/pequod-io/pequod/operator/roles"
)

// steps are the conditions of the steps in their order.
var steps = []string{
	v1alpha1.ConditionCueFetched, v1alpha1.ConditionSchemaExtracted, v1alpha1.ConditionCRDGenerated, v1alpha1.ConditionRBACConfigured,
}

// state returns what sets conditions of a status.
func (s *session) state(status *v1alpha1.TransformStatus) conditions.Writer {
	return conditions.Writer{To: &status.Conditions, Generation: s.t.Generation, Now: s.now}
}

// blockedBy sets the status of a Transform that a step blocks. Conditions of later steps stay
// those of the last good version.
func (s *session) blockedBy(status *v1alpha1.TransformStatus, b *blocked) {
	s.failed = b.stalled || b == s.p.block
	for _, name := range steps {
		if b.condition == "" || name == b.condition {
			break
		}
		s.stepDone(status, name)
	}
	if b.condition != "" {
		s.state(status).Set(b.condition, metav1.ConditionFalse, b.reason, b.message)
	}
	s.state(status).Failed(b.stalled, b.reason, b.message)
	switch {
	case b.stalled:
		status.Phase = v1alpha1.TransformFailed
	case b.condition == v1alpha1.ConditionCueFetched:
		status.Phase = v1alpha1.TransformFetching
	default:
		status.Phase = v1alpha1.TransformGenerating
	}
	s.observed(status)
}

// succeeded sets the status of a Transform whose steps are all done.
func (s *session) succeeded(status *v1alpha1.TransformStatus) {
	for _, name := range steps {
		s.stepDone(status, name)
	}
	s.state(status).Ready(reasonSucceeded, "instances of "+s.p.loaded.Names.Kind+" are reconciled")
	status.Phase = v1alpha1.TransformReady
	status.AvailableCueRef = nil
	status.GeneratedRBAC = roles.Name(s.key)
	if !s.generates() {
		status.GeneratedRBAC = ""
	}
	module, ref := s.p.loaded.Module, s.p.fetched.Ref
	if r := status.ResolvedCueRef; r == nil || r.Digest != module.Digest || r.Version != module.Version || r.Ref != ref {
		status.ResolvedCueRef = &v1alpha1.ResolvedCueRef{Digest: module.Digest, Version: module.Version, Ref: ref, FetchedAt: metav1.NewTime(s.now)}
	}
	s.observed(status)
}

// stepDone sets the condition of a step that is done.
func (s *session) stepDone(status *v1alpha1.TransformStatus, name string) {
	reason, message := reasonSucceeded, ""
	switch name {
	case v1alpha1.ConditionCueFetched:
		message = "the module and its policies were fetched"
	case v1alpha1.ConditionSchemaExtracted:
		message = "the CRD has the schema of the module"
		if n := len(s.p.loaded.Notes); n > 0 {
			message = fmt.Sprintf("the CRD has the schema of the module, with %d notes: %s", n, s.p.loaded.Notes[0])
		}
	case v1alpha1.ConditionCRDGenerated:
		message = "CustomResourceDefinition " + s.p.loaded.CRD.Name + " is served"
		if s.p.loaded.Converts && s.Conversion == nil {
			message += "; its versions are not converted, because pequod-manager runs without --webhooks"
		}
	case v1alpha1.ConditionRBACConfigured:
		message = "service account " + roles.Account(s.Namespace, s.key).String() + " has the rights of the platform"
		if unknown := s.p.unknown; len(unknown) > 0 && len(s.t.Spec.ManagedResources) == 0 {
			message += ", except those on kinds that the cluster doesn't know or that instances name, such as " + unknown[0].String()
		}
		name := s.t.Spec.ServiceAccountName
		if name != "" {
			reason, message = reasonOwnAccount, "graphs run as service account "+name+" of their namespace, which has the rights that others grant"
		}
		if s.RenderOnly {
			account := "service account " + name
			if name == "" {
				account = "the account that its --default-service-account names"
			}
			reason, message = reasonNotExecuted, "pequod-manager generates no roles and executes no graphs (--execute=false): pequod-applier does, as "+account+" in their namespace"
		}
	}
	s.state(status).Set(name, metav1.ConditionTrue, reason, message)
}

// observed records what the status describes.
func (s *session) observed(status *v1alpha1.TransformStatus) {
	if lost := apimeta.FindStatusCondition(s.t.Status.Conditions, v1alpha1.ConditionInstancesLost); lost != nil && s.found(lost) {
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionInstancesLost)
	}
	status.ObservedGeneration = s.t.Generation
	status.LastHandledReconcileAt = requested(s.t)
	// After a restart, the last numbers stay until the instances were counted.
	if counts := s.Catalog.Counts(s.key); counts != nil {
		status.Instances = counts
	}
}

// found reports whether there are instances again after a loss, or the user has accepted it by a
// change of the Transform or a request.
func (s *session) found(lost *metav1.Condition) bool {
	counts := s.Catalog.Counts(s.key)
	return counts != nil && counts.Total > 0 || lost.ObservedGeneration != s.t.Generation || requested(s.t) != s.t.Status.LastHandledReconcileAt
}

// sameStatus reports whether two statuses are stored alike. The API server stores times
// without fractions of seconds.
func sameStatus(a, b *v1alpha1.TransformStatus) bool { return equality.Semantic.DeepEqual(a, b) }

// report logs and emits Events about the status that was written. Events with equal texts would hide
// when something happened again, so only changes are reported.
func (s *session) report(ctx context.Context, before *v1alpha1.Transform) {
	was, is := condition(&before.Status, v1alpha1.ConditionReady), condition(&s.t.Status, v1alpha1.ConditionReady)
	if was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	log.FromContext(ctx).Info("the condition Ready of a Transform has changed",
		"transform", s.key.String(), "status", is.Status, "reason", is.Reason, "message", is.Message)
	if is.Status == metav1.ConditionTrue {
		s.emit(corev1.EventTypeNormal, "Ready", "Reconcile", is.Message)
		return
	}
	kind := corev1.EventTypeNormal
	if condition(&s.t.Status, v1alpha1.ConditionStalled).Status == metav1.ConditionTrue || s.p.block != nil {
		kind = corev1.EventTypeWarning
	}
	reason := is.Reason
	if s.p.block != nil && s.p.block.reason == is.Reason {
		reason = s.p.block.event
	}
	// Events with equal reasons and actions are counted as one, with the first text. So the
	// action tells causes apart.
	s.emit(kind, reason, is.Reason, is.Message)
}

func (s *session) emit(severity, reason, action, note string) {
	event.Emit(s.events, v1alpha1.GroupVersion.WithKind("Transform"), s.t, severity, reason, action, note)
}

// writeStatus writes the status if it has changed, and Events about what has changed. The
// error is a conflict if the Transform was changed since it was read.
func (s *session) writeStatus(ctx context.Context, next *v1alpha1.TransformStatus) error {
	if sameStatus(&s.t.Status, next) {
		return nil
	}
	before := s.t.DeepCopy()
	s.t.Status = *next
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Status().Patch(ctx, s.t, patch, client.FieldOwner(v1alpha1.ManagerProgram)); err != nil {
		s.t.Status = before.Status
		return err
	}
	s.report(ctx, before)
	return nil
}

// condition returns a condition of a status, or a zero one.
func condition(status *v1alpha1.TransformStatus, name string) metav1.Condition {
	if c := apimeta.FindStatusCondition(status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{}
}
