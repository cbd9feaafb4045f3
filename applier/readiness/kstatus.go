package readiness

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// evaluateKstatus returns the verdict of kstatus with messages of our own. It is less
// strict for claims, see [pendingClaim], and for DaemonSets, see [withoutRollout]. It is stricter
// in three cases: kstatus takes a Pod that failed for Current, and also, depending on the
// order of its conditions, a CustomResourceDefinition whose names aren't accepted; and it
// ignores that a condition was written for an older generation.
func evaluateKstatus(object *unstructured.Unstructured) Verdict {
	if c, ok := decisiveCondition(object); ok && c.stale {
		return progressing("condition %s is of an older generation", c.kind)
	}
	result, err := computeKstatus(object)
	if err != nil {
		return failed("its status can't be read (%v); a check in readyWhen can say when it is ready", err)
	}
	switch result.Status {
	case status.CurrentStatus:
		switch object.GroupVersionKind().GroupKind() {
		case podKind:
			if jsonvalue.Field(object.Object, "status", "phase") == "Failed" {
				return failed("the Pod failed%s", podFailure(object).because())
			}
		case definitionKind:
			if c, _ := conditionOf(object, "NamesAccepted"); c.status == "False" {
				return failed("%s", definitionText(object))
			}
		}
		return Verdict{State: Ready}
	case status.FailedStatus:
		return failed("%s", kstatusMessage(object, result))
	}
	if object.GroupVersionKind().GroupKind() == claimKind && jsonvalue.Field(object.Object, "status", "phase") == "Pending" {
		return pendingClaim(object)
	}
	return progressing("%s", kstatusMessage(object, result))
}

// FirstConsumer is the message of a PersistentVolumeClaim that is ready although no volume
// is bound to it.
const FirstConsumer = "exists, and gets its volume when a Pod that uses it starts (WaitForFirstConsumer)"

// pendingClaim returns the verdict on a PersistentVolumeClaim that isn't bound yet. It is
// ready if its StorageClass has the volumeBindingMode WaitForFirstConsumer: a volume is
// bound to it only when a Pod uses it, and that Pod may wait for the claim. The
// scheduler then records the node of the Pod in an annotation of the claim. Before
// that, only Events tell about the mode.
func pendingClaim(object *unstructured.Unstructured) Verdict {
	if object.GetAnnotations()["volume.kubernetes.io/selected-node"] != "" {
		return Verdict{Ready, FirstConsumer}
	}
	return Verdict{Undecided, "is Pending, not Bound"}
}

// The kinds that need more than kstatus, see [evaluateKstatus].
var (
	podKind        = schema.GroupKind{Kind: "Pod"}
	claimKind      = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// computeKstatus computes the kstatus of an object. It returns panics as errors:
// kstatus asserts the types of some status fields, and the status of a custom
// resource with a built-in kind's name may have any form.
func computeKstatus(object *unstructured.Unstructured) (result *status.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return status.Compute(withoutRollout(object))
}

// decisiveCondition returns the condition from which kstatus derives the state of an
// object, and false if it has none: Stalled if it is True, or else Ready. The kinds that
// kstatus knows have neither, except for Pods.
func decisiveCondition(object *unstructured.Unstructured) (condition, bool) {
	if c, _ := conditionOf(object, "Stalled"); c.status == "True" {
		return c, true
	}
	return conditionOf(object, "Ready")
}

// withoutRollout returns a workload with the update strategy OnDelete as if it were rolled
// out: a user decides when its Pods are replaced, so old Pods don't make it unready.
// kstatus waits for ever until the Pods of such a DaemonSet are replaced, and takes such a
// StatefulSet for Current even if none of its Pods is ready. Other objects are returned as
// they are.
func withoutRollout(object *unstructured.Unstructured) *unstructured.Unstructured {
	gk := object.GroupVersionKind().GroupKind()
	if gk.Group != "apps" || jsonvalue.Field(object.Object, "spec", "updateStrategy", "type") != "OnDelete" {
		return object
	}
	with := func(part, field string, value any) *unstructured.Unstructured {
		fields, _ := object.Object[part].(map[string]any)
		fields, whole := maps.Clone(fields), maps.Clone(object.Object)
		fields[field], whole[part] = value, fields
		return &unstructured.Unstructured{Object: whole}
	}
	switch {
	case gk.Kind == "DaemonSet" && object.Object["status"] != nil:
		return with("status", "updatedNumberScheduled", jsonvalue.Field(object.Object, "status", "desiredNumberScheduled"))
	case gk.Kind == "StatefulSet":
		partition := intField(object, 1, "spec", "replicas") // keeps all Pods at the old revision
		return with("spec", "updateStrategy", map[string]any{"rollingUpdate": map[string]any{"partition": partition}})
	}
	return object
}

// kstatusMessage returns the message for an object that isn't Current: the
// condition that kstatus derived its result from, a message for the kind, or else
// the message of kstatus.
func kstatusMessage(object *unstructured.Unstructured, result *status.Result) string {
	reason, message := "", result.Message
	if len(result.Conditions) > 0 {
		reason = result.Conditions[0].Reason
	}
	for _, kind := range []string{"Stalled", "Reconciling"} {
		if c, _ := conditionOf(object, kind); c.status == "True" && c.message == message && c.reason == reason {
			return c.String()
		}
	}
	if text, ok := kindMessage(object, reason, message); ok {
		return text
	}
	if text, ok := countsMessage(reason, message); ok {
		return text
	}
	if c, ok := conditionOf(object, "Ready"); ok && c.reason == reason && c.message == message {
		return c.String()
	}
	if message == "" {
		return "isn't ready" + condition{reason: reason}.because()
	}
	return message
}

// kindMessage returns the message for kinds about which kstatus says too little,
// and false for the others.
func kindMessage(object *unstructured.Unstructured, reason, message string) (string, bool) {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		if reason == "ProgressDeadlineExceeded" {
			return "its progress deadline is exceeded" + availableText(object), true
		}
		if reason == "LessReplicas" && jsonvalue.Field(object.Object, "status", "observedGeneration") == nil {
			return "the Deployment controller hasn't seen it yet", true
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		if c, _ := conditionOf(object, "Failed"); c.status == "True" {
			return "the Job failed" + c.because(), true
		}
		return "hasn't started yet", true
	case definitionKind:
		return definitionText(object), true
	case claimKind:
		if phase, _ := jsonvalue.Field(object.Object, "status", "phase").(string); phase != "" {
			return "is " + phase + ", not Bound", true
		}
		return "isn't bound yet", true
	case schema.GroupKind{Kind: "Service"}:
		return "has no cluster IP yet", true
	case podKind:
		return podText(object, reason, message), true
	}
	return "", false
}

// countsMessage returns the message for a workload with too few or too many
// replicas. kstatus writes their numbers in the form "Available: 1/3".
func countsMessage(reason, message string) (string, bool) {
	_, counts, _ := strings.Cut(message, ": ")
	var have, want int64
	if n, _ := fmt.Sscanf(counts, "%d/%d", &have, &want); n == 2 {
		word := map[string]string{
			"LessReplicas": "created", "LessUpdated": "updated", "LessAvailable": "available", "LessReady": "ready",
			"LessLabelled": "labelled", "LessCurrent": "of the current revision", "PartitionRollout": "updated",
		}[reason]
		if strings.HasPrefix(message, "Current: ") {
			word = "scheduled" // of a DaemonSet
		}
		if word != "" {
			return fmt.Sprintf("%d of %s %s", have, replicasText(want), word), true
		}
	}
	switch reason {
	case "ExtraPods":
		if n, _ := fmt.Sscanf(counts, "%d", &have); n == 1 {
			return replicasText(have) + " too many", true
		}
	case "RevisionMismatch":
		return "not every replica is of the newest revision", true
	case "ReplicaSetNotAvailable", "DeploymentNotAvailable":
		return "isn't available yet", true
	case "NoDesiredNumber", "NoObservedGeneration":
		return "its controller hasn't seen it yet", true
	case "ReplicaFailure":
		return "pods can't be created", true
	}
	return "", false
}

// podText returns the message for a Pod that isn't Current.
func podText(object *unstructured.Unstructured, reason, message string) string {
	switch reason {
	case "ContainerCrashLooping":
		_, names, _ := strings.Cut(message, ": ")
		return "is crashing: container " + strings.ReplaceAll(names, ",", ", ")
	case "PodNotScheduled", "PodUnschedulable":
		if c, ok := conditionOf(object, "PodScheduled"); ok {
			return "can't be scheduled" + condition{message: c.message}.because()
		}
		return "can't be scheduled"
	case "PodRunningNotReady":
		return "is running, but not ready"
	case "PodPending":
		return "is pending"
	}
	return "hasn't started yet"
}

// podFailure returns the reason and message of a failed Pod: those of its status,
// which only evicted Pods have, or else those of its first container that ended
// with an error.
func podFailure(object *unstructured.Unstructured) condition {
	var c condition
	c.reason, _ = jsonvalue.Field(object.Object, "status", "reason").(string)
	c.message, _ = jsonvalue.Field(object.Object, "status", "message").(string)
	if c.reason != "" || c.message != "" {
		return c
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _ := jsonvalue.Field(object.Object, "status", list).([]any)
		for _, entry := range statuses {
			m, _ := entry.(map[string]any)
			code, _ := jsonvalue.Field(m, "state", "terminated", "exitCode").(int64)
			if code == 0 {
				continue
			}
			name, _ := m["name"].(string)
			c.reason, _ = jsonvalue.Field(m, "state", "terminated", "reason").(string)
			c.message = fmt.Sprintf("container %s exited with %d", name, code)
			return c
		}
	}
	return c
}

// definitionText returns the message for a CustomResourceDefinition that isn't
// established.
func definitionText(object *unstructured.Unstructured) string {
	if c, _ := conditionOf(object, "NamesAccepted"); c.status == "False" {
		return "its names aren't accepted" + c.because()
	}
	c, _ := conditionOf(object, "Established")
	if c.status == "False" {
		return "isn't established yet" + c.because()
	}
	return "isn't established yet"
}
