package cause

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mostInformative returns the cause with the first rank among those of several
// Pods, and how many Pods have it.
func mostInformative(pods []corev1.Pod) (best podCause, count int) {
	best.rank = rankNone
	for i := range pods {
		c := causeOfPod(&pods[i])
		switch {
		case c.rank < best.rank:
			best, count = c, 1
			continue
		case c.rank > best.rank || c.rank == rankNone:
			continue
		case c.text == best.text:
			count++
		}
		if c.created.Before(best.created) {
			best.created = c.created
		}
	}
	return best, count
}

// causeOfPod returns why a Pod isn't ready, from its own status.
func causeOfPod(pod *corev1.Pod) podCause {
	c := podCause{rank: rankNone, pod: pod.Name, uid: pod.UID, created: pod.CreationTimestamp.Time}
	if isReady(pod) || pod.Status.Phase == corev1.PodSucceeded {
		return c
	}
	if pod.Status.Phase == corev1.PodFailed && (pod.Status.Reason != "" || pod.Status.Message != "") {
		c.rank, c.text = rankEnded, "failed: "+join(pod.Status.Reason, pod.Status.Message)
		return c
	}
	for _, list := range []struct {
		statuses []corev1.ContainerStatus
		specs    []corev1.Container
		noun     string
	}{
		{pod.Status.InitContainerStatuses, pod.Spec.InitContainers, initContainer},
		{pod.Status.ContainerStatuses, pod.Spec.Containers, "container "},
	} {
		for i := range list.statuses {
			var spec corev1.Container
			for _, s := range list.specs {
				if s.Name == list.statuses[i].Name {
					spec = s
				}
			}
			c.consider(causeOfContainer(&list.statuses[i], &spec, list.noun+list.statuses[i].Name))
		}
	}
	c.consider(schedulingCause(pod))
	c.consider(readinessGateCause(pod))
	return c
}

// isReady reports whether the condition Ready of a Pod is True.
func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// schedulingCause returns why a Pod isn't scheduled.
func schedulingCause(pod *corev1.Pod) podCause {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		if c.Reason == corev1.PodReasonSchedulingGated {
			return podCause{rank: rankSchedulingGate, text: "isn't scheduled: " + join(c.Reason, c.Message)}
		}
		// The part about preemption only repeats the number of nodes.
		message, _, _ := strings.Cut(c.Message, " preemption: ")
		if message == "" {
			message = c.Reason
		}
		return podCause{rank: rankUnscheduled, text: "can't be scheduled: " + message}
	}
	return podCause{rank: rankNone}
}

// readinessGateCause returns the first readiness gate of a Pod that isn't met.
// Readiness gates are conditions that a controller sets; a Pod whose containers
// are all ready waits for them.
func readinessGateCause(pod *corev1.Pod) podCause {
	for _, gate := range pod.Spec.ReadinessGates {
		met := false
		for _, c := range pod.Status.Conditions {
			met = met || c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}
		if !met {
			return podCause{rank: rankNotReady, text: "waits for its readiness gate " + string(gate.ConditionType)}
		}
	}
	return podCause{rank: rankNone}
}
