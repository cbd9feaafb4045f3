package cause

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/readiness"
)

// Decides reports whether [Find] may find out that an object of this kind is ready: that it
// is a PersistentVolumeClaim.
func Decides(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
}

// unknownBinding is said of a claim whose Events can't be listed, before the error.
const unknownBinding = "if its StorageClass has WaitForFirstConsumer, add readyWhen: [{type: Exists}] to its node; the claim's Events would tell, but can't be listed: "

// explainClaim returns why a claim isn't bound. The claim is ready if its StorageClass has
// the volumeBindingMode WaitForFirstConsumer: it is bound only after a Pod that uses it was
// scheduled, so whatever waits for the claim would wait for ever.
//
// Few accounts may get StorageClasses, which have no namespace. So the state is decided by
// Events: the controller of volumes emits one of these two for each claim with
// that mode, and repeats them while no Pod was scheduled. Afterwards, the claim has an
// annotation that package readiness reads.
func (e *explainer) explainClaim() string {
	uid := e.object.GetUID()
	if stringField(e.object, "status", "phase") == string(corev1.ClaimBound) {
		return ""
	}
	waits := e.events.withReason(uid, "WaitForFirstConsumer", "WaitForPodScheduled")
	if waits != "" && stringField(e.object, "status", "phase") == string(corev1.ClaimPending) {
		e.state = readiness.Ready
		return readiness.FirstConsumer
	}
	if line := e.events.warning(uid, ""); line != "" {
		return line
	}
	return e.events.withReason(uid, "FailedBinding", "ExternalProvisioning", "Provisioning")
}
