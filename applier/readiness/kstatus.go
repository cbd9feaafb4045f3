package readiness

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// current is kstatus' judgement in words of ours. It is stricter on two points:
// a Pod that ended in an error is current to kstatus, and so is, depending on
// the order of its conditions, a definition whose names aren't accepted.
func current(object *unstructured.Unstructured) Verdict {
	result, err := compute(object)
	if err != nil {
		return failed("its status can't be read (%v); a check in readyWhen can say when it is ready", err)
	}
	switch result.Status {
	case status.CurrentStatus:
		switch object.GroupVersionKind().GroupKind() {
		case podKind:
			if field(object.Object, "status", "phase") == "Failed" {
				return failed("the Pod failed%s", podFailure(object).because())
			}
		case definitionKind:
			if c, _ := conditionOf(object, "NamesAccepted"); c.status == "False" {
				return failed("%s", definitionText(object))
			}
		}
		return Verdict{State: Ready}
	case status.FailedStatus:
		return failed("%s", wording(object, result))
	default:
		return progressing("%s", wording(object, result))
	}
}

var (
	podKind        = schema.GroupKind{Kind: "Pod"}
	definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

// compute guards against statuses that no API server validated: kstatus trusts
// the types of what stands in a Pod's.
func compute(object *unstructured.Unstructured) (result *status.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return status.Compute(object)
}

func wording(object *unstructured.Unstructured, result *status.Result) string {
	reason, message := "", result.Message
	if len(result.Conditions) > 0 {
		reason = result.Conditions[0].Reason
	}
	for _, kind := range []string{"Stalled", "Reconciling"} {
		if c, _ := conditionOf(object, kind); c.status == "True" && c.message == message && c.reason == reason {
			return c.String()
		}
	}
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		if reason == "ProgressDeadlineExceeded" {
			return "its progress deadline is exceeded" + replicasText(object)
		}
		if reason == "LessReplicas" && field(object.Object, "status", "observedGeneration") == nil {
			return "the Deployment controller hasn't seen it yet"
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		if c, _ := conditionOf(object, "Failed"); c.status == "True" {
			return "the Job failed" + c.because()
		}
		return "hasn't started yet"
	case definitionKind:
		return definitionText(object)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if phase, _ := field(object.Object, "status", "phase").(string); phase != "" {
			return "is " + phase + ", not Bound"
		}
		return "isn't bound yet"
	case schema.GroupKind{Kind: "Service"}:
		return "has no cluster IP yet"
	case podKind:
		return podText(object, reason, message)
	}
	if text, ok := countText(reason, message); ok {
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

// countText words the counts of workloads, which kstatus writes as Available: 1/3.
func countText(reason, message string) (string, bool) {
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
			return fmt.Sprintf("%d of %s %s", have, replicas(want), word), true
		}
	}
	switch reason {
	case "ExtraPods":
		if n, _ := fmt.Sscanf(counts, "%d", &have); n == 1 {
			return replicas(have) + " too many", true
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

// podFailure is what a failed Pod says of itself, as only evicted ones do, or
// of its first container that ended in an error.
func podFailure(object *unstructured.Unstructured) condition {
	var c condition
	c.reason, _ = field(object.Object, "status", "reason").(string)
	c.message, _ = field(object.Object, "status", "message").(string)
	if c.reason != "" || c.message != "" {
		return c
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _ := field(object.Object, "status", list).([]any)
		for _, entry := range statuses {
			m, _ := entry.(map[string]any)
			code, _ := field(m, "state", "terminated", "exitCode").(int64)
			if code == 0 {
				continue
			}
			name, _ := m["name"].(string)
			c.reason, _ = field(m, "state", "terminated", "reason").(string)
			c.message = fmt.Sprintf("container %s exited with %d", name, code)
			return c
		}
	}
	return c
}

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

func replicasText(object *unstructured.Unstructured) string {
	want := number(object, 1, "spec", "replicas")
	return fmt.Sprintf(": %d of %s available", number(object, 0, "status", "availableReplicas"), replicas(want))
}

func replicas(n int64) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}
