package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusAt returns the status that a kubelet would report now for a Pod that
// arrived at its node at start, and when that status changes by itself; the zero
// time means never.
func statusAt(pod *corev1.Pod, ip string, start, now time.Time, backoff time.Duration) (corev1.PodStatus, time.Time) {
	c := play(pod, start, now, backoff)
	return statusOf(pod, ip, start, now, c), c.next
}

// statusOf returns the status of a Pod with containers.
func statusOf(pod *corev1.Pod, ip string, start, now time.Time, c cast) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.HostIP, status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
	status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	if status.StartTime == nil {
		status.StartTime = seconds(start)
	}
	status.InitContainerStatuses = c.inits
	status.ContainerStatuses = c.apps
	status.Phase = c.phase()
	status.ObservedGeneration = pod.Generation
	setConditions(pod, &status, c, now)
	return status
}

// cast is the set of containers of a Pod at one moment.
type cast struct {
	inits, apps []corev1.ContainerStatus
	initialized bool
	next        time.Time
}

// play simulates the init containers one after the other, and then the app
// containers together.
func play(pod *corev1.Pod, start, now time.Time, backoff time.Duration) cast {
	c := cast{initialized: true}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if !c.initialized {
			c.inits = append(c.inits, waiting(container, "PodInitializing", ""))
			continue
		}
		script, err := initScriptOf(pod, container, backoff)
		if err != nil {
			c.inits, c.initialized = append(c.inits, waiting(container, configError, err.Error())), false
			continue
		}
		scene := script.at(start, now)
		c.inits = append(c.inits, containerStatus(pod, container, scene))
		c.next = earlier(c.next, scene.next)
		switch {
		case scene.stage == terminated && scene.last.code == 0:
			start = scene.last.finished
		case scene.stage == running && sidecar(container):
		default:
			c.initialized = false
		}
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if !c.initialized {
			c.apps = append(c.apps, waiting(container, "PodInitializing", ""))
			continue
		}
		script, err := scriptOf(pod, container, backoff)
		if err != nil {
			c.apps = append(c.apps, waiting(container, configError, err.Error()))
			continue
		}
		scene := script.at(start, now)
		c.apps = append(c.apps, containerStatus(pod, container, scene))
		c.next = earlier(c.next, scene.next)
	}
	return c
}

// phase derives the phase of the Pod from its containers, as a kubelet does.
func (c cast) phase() corev1.PodPhase {
	for _, status := range c.inits {
		if end := status.State.Terminated; end != nil && end.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	ended, failed := 0, false
	for _, status := range c.apps {
		state := status.State
		switch {
		case state.Waiting != nil && status.LastTerminationState.Terminated == nil:
			return corev1.PodPending
		case state.Terminated != nil:
			ended++
			failed = failed || state.Terminated.ExitCode != 0
		}
	}
	switch {
	case ended < len(c.apps):
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// unready returns the names of the containers that are not ready.
func (c cast) unready(pod *corev1.Pod) []string {
	var names []string
	for i, status := range c.inits {
		if sidecar(&pod.Spec.InitContainers[i]) && !status.Ready {
			names = append(names, status.Name)
		}
	}
	for _, status := range c.apps {
		if !status.Ready {
			names = append(names, status.Name)
		}
	}
	return names
}

// setConditions sets the conditions that a kubelet reports for a Pod.
func setConditions(pod *corev1.Pod, status *corev1.PodStatus, c cast, now time.Time) {
	set := func(kind corev1.PodConditionType, reason, message string) {
		next := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: pod.Generation}
		if reason != "" {
			next.Status = corev1.ConditionFalse
		}
		setCondition(status, next, now)
	}
	initialized := ""
	if !c.initialized {
		initialized = "ContainersNotInitialized"
	}
	set(corev1.PodInitialized, initialized, "")
	reason, message := "", ""
	if names := c.unready(pod); len(names) > 0 {
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(names, " "))
	}
	if status.Phase == corev1.PodSucceeded {
		reason, message = "PodCompleted", ""
	}
	set(corev1.ContainersReady, reason, message)
	for _, gate := range pod.Spec.ReadinessGates {
		if reason == "" && !conditionTrue(status, gate.ConditionType) {
			reason, message = "ReadinessGatesNotReady", fmt.Sprintf("the status of pod readiness gate %q is not \"True\"", gate.ConditionType)
		}
	}
	set(corev1.PodReady, reason, message)
}

// setCondition sets a condition. The transition time changes only with the
// status.
func setCondition(status *corev1.PodStatus, next corev1.PodCondition, now time.Time) {
	next.LastTransitionTime = *seconds(now)
	for i, old := range status.Conditions {
		if old.Type == next.Type {
			if old.Status == next.Status {
				next.LastTransitionTime = old.LastTransitionTime
			}
			status.Conditions[i] = next
			return
		}
	}
	status.Conditions = append(status.Conditions, next)
}

// conditionTrue reports whether a Pod has a condition with status True.
func conditionTrue(status *corev1.PodStatus, kind corev1.PodConditionType) bool {
	for _, condition := range status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// seconds truncates a time to the resolution of the API server.
func seconds(t time.Time) *metav1.Time {
	cut := metav1.Unix(t.Unix(), 0)
	return &cut
}
