package cause

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// initContainer is the word before the names of init containers in messages.
const initContainer = "init container "

// causeOfContainer returns why a container keeps its Pod from being ready. title
// is the name of the container with its kind: "container web".
func causeOfContainer(status *corev1.ContainerStatus, spec *corev1.Container, title string) podCause {
	if waiting := status.State.Waiting; waiting != nil {
		return causeOfWaiting(waiting, status, spec, title)
	}
	if ended := status.State.Terminated; ended != nil {
		if ended.ExitCode == 0 {
			return podCause{rank: rankNone}
		}
		return podCause{rank: rankCrash, text: title + " " + exitText(ended, spec)}
	}
	// A running init container is on its way; its Pod has no cause yet.
	if status.Ready || status.State.Running == nil || strings.HasPrefix(title, initContainer) {
		return podCause{rank: rankNone}
	}
	if last := status.LastTerminationState.Terminated; last != nil && last.ExitCode != 0 && status.RestartCount > 1 {
		// A container in a crash loop runs for a while between two crashes.
		return podCause{rank: rankCrash, text: title + " was started again: it " + exitText(last, spec)}
	}
	return podCause{
		rank: rankNotReady, text: title + " runs, but isn't ready", eventReasons: []string{"Unhealthy"},
		eventDetail: func(message string) string { return probeMessage(message, spec) },
	}
}

// causeOfWaiting returns why a container isn't started. The reasons are those of
// the kubelet (k8s.io/kubernetes/pkg/kubelet/images and kuberuntime).
func causeOfWaiting(waiting *corev1.ContainerStateWaiting, status *corev1.ContainerStatus, spec *corev1.Container, title string) podCause {
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		ref := spec.Image
		if ref == "" {
			ref = status.Image
		}
		c := podCause{rank: rankImage, text: "image " + ref + " can't be pulled"}
		if detail := pullMessage(waiting.Reason, waiting.Message); detail != "" {
			c.text += ": " + detail
		} else {
			c.eventReasons = []string{"Failed", "InspectFailed"}
			c.eventDetail = func(message string) string { return pullMessage("", message) }
		}
		return c
	case "PreStartHookError", "PostStartHookError":
		// The message is left out: it quotes the output of the hook.
		return podCause{rank: rankConfig, text: title + " can't be started: " + waiting.Reason}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return podCause{rank: rankConfig, text: title + " can't be started: " + join(waiting.Reason, waiting.Message)}
	case "CrashLoopBackOff":
		// The message has only the duration of the backoff; the last exit has the
		// cause.
		if last := status.LastTerminationState.Terminated; last != nil {
			return podCause{rank: rankCrash, text: title + " is in a crash loop: it " + exitText(last, spec)}
		}
		return podCause{rank: rankCrash, text: title + " is in a crash loop"}
	case "ContainerCreating", "PodInitializing", "":
		return podCause{
			rank: rankStarting, text: title + " is being created",
			eventReasons: []string{"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume"},
			eventDetail:  func(message string) string { return message },
		}
	}
	return podCause{rank: rankConfig, text: title + " waits: " + join(waiting.Reason, waiting.Message)}
}

// exitText returns how a container ended. It leaves out the termination message,
// which the application wrote and which may be the end of its log.
func exitText(ended *corev1.ContainerStateTerminated, spec *corev1.Container) string {
	if ended.Reason == "OOMKilled" {
		text := "was killed for want of memory (OOMKilled"
		if limit, ok := spec.Resources.Limits[corev1.ResourceMemory]; ok {
			text += ", limit " + limit.String()
		}
		return text + ")"
	}
	text := fmt.Sprintf("exited with %d", ended.ExitCode)
	if ended.Signal != 0 {
		text += fmt.Sprintf(" by signal %d", ended.Signal)
	}
	if ended.Reason != "" && ended.Reason != "Error" {
		text += " (" + ended.Reason + ")"
	}
	return text
}

// pullMessage returns the part of a kubelet's message about an image that the
// registry or the container runtime wrote. It removes the name of the image and
// the statement that the pull failed, which the line already has. It returns "" if
// nothing is left.
func pullMessage(reason, message string) string {
	for _, prefix := range []string{"Back-off pulling image ", "Failed to pull image ", "Failed to inspect image "} {
		if rest, ok := strings.CutPrefix(message, prefix); ok {
			_, message, ok = strings.Cut(rest, `": `)
			if !ok {
				return ""
			}
		}
	}
	for _, prefix := range []string{"ErrImagePull: ", "ImagePullBackOff: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	switch {
	case message == "Error: ErrImagePull" || message == "Error: ImagePullBackOff":
		return ""
	case message == "" && reason != "ErrImagePull" && reason != "ImagePullBackOff":
		return reason
	}
	return message
}

// probeMessage returns a kubelet's message about a failed readiness or startup
// probe, and "" for any other message. If the container has an exec probe, it
// leaves out what follows the colon: the output of the application's command.
func probeMessage(message string, spec *corev1.Container) string {
	if !strings.HasPrefix(message, "Readiness probe") && !strings.HasPrefix(message, "Startup probe") {
		return ""
	}
	for _, probe := range []*corev1.Probe{spec.ReadinessProbe, spec.StartupProbe} {
		if probe != nil && probe.Exec != nil {
			head, _, _ := strings.Cut(message, ":")
			return head
		}
	}
	return message
}
