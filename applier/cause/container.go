package cause

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// container says what is wrong with one container of a Pod. Name names it with
// its kind.
func container(status *corev1.ContainerStatus, spec *corev1.Container, name string) trouble {
	if waiting := status.State.Waiting; waiting != nil {
		return waits(waiting, status, spec, name)
	}
	if ended := status.State.Terminated; ended != nil {
		if ended.ExitCode == 0 {
			return trouble{rank: none}
		}
		return trouble{rank: crash, text: name + " " + exit(ended, spec)}
	}
	if status.Ready || status.State.Running == nil || strings.HasPrefix(name, "init ") {
		return trouble{rank: none}
	}
	if last := status.LastTerminationState.Terminated; last != nil && last.ExitCode != 0 && status.RestartCount > 1 {
		// Between two crashes it runs for a while.
		return trouble{rank: crash, text: name + " was started again: it " + exit(last, spec)}
	}
	return trouble{
		rank: notReady, text: name + " runs, but isn't ready", reasons: []string{"Unhealthy"},
		trim: func(message string) string { return probeMessage(message, spec) },
	}
}

func waits(waiting *corev1.ContainerStateWaiting, status *corev1.ContainerStatus, spec *corev1.Container, name string) trouble {
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		ref := spec.Image
		if ref == "" {
			ref = status.Image
		}
		t := trouble{rank: image, text: "image " + ref + " can't be pulled"}
		if detail := pullMessage(waiting.Reason, waiting.Message); detail != "" {
			t.text += ": " + detail
		} else {
			t.reasons = []string{"Failed", "InspectFailed"}
			t.trim = func(message string) string { return pullMessage("", message) }
		}
		return t
	case "PreStartHookError", "PostStartHookError": // their messages hold what the hook printed
		return trouble{rank: config, text: name + " can't be started: " + waiting.Reason}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return trouble{rank: config, text: name + " can't be started: " + join(waiting.Reason, waiting.Message)}
	case "CrashLoopBackOff":
		if last := status.LastTerminationState.Terminated; last != nil {
			return trouble{rank: crash, text: name + " is in a crash loop: it " + exit(last, spec)}
		}
		return trouble{rank: crash, text: name + " is in a crash loop"}
	case "ContainerCreating", "PodInitializing", "":
		return trouble{
			rank: weak, text: name + " is being created", reasons: []string{"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume"},
			trim: func(message string) string { return message },
		}
	}
	return trouble{rank: config, text: name + " waits: " + join(waiting.Reason, waiting.Message)}
}

// exit says how a container ended. Its termination message is left out: an
// application writes there what it likes, up to its last lines of log.
func exit(ended *corev1.ContainerStateTerminated, spec *corev1.Container) string {
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

// pullMessage leaves of a kubelet's message what the registry or the runtime
// said: that it failed and which image it was, is told.
func pullMessage(reason, message string) string {
	for _, prefix := range []string{"Back-off pulling image ", "Failed to pull image ", "Failed to inspect image "} {
		if rest, ok := strings.CutPrefix(message, prefix); ok {
			_, message, ok = strings.Cut(rest, `": `)
			if !ok {
				return ""
			}
		}
	}
	for _, noise := range []string{"ErrImagePull: ", "ImagePullBackOff: "} {
		message = strings.TrimPrefix(message, noise)
	}
	switch {
	case message == "Error: ErrImagePull" || message == "Error: ImagePullBackOff":
		return ""
	case message == "" && reason != "ErrImagePull" && reason != "ImagePullBackOff":
		return reason
	}
	return message
}

// probeMessage is what a kubelet says of a failed probe. What an exec probe
// printed is the application's own and left out.
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
