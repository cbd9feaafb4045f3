package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// containerStatus tells a scene in the words of a kubelet.
func containerStatus(pod *corev1.Pod, container *corev1.Container, scene scene) corev1.ContainerStatus {
	if scene.stage == pulling {
		return waiting(container, imagePullBackOff, fmt.Sprintf("Back-off pulling image %q", container.Image))
	}
	status := corev1.ContainerStatus{
		Name:         container.Name,
		Image:        container.Image,
		ImageID:      "fake://" + container.Image,
		ContainerID:  fmt.Sprintf("fake://%s/%s", pod.UID, container.Name),
		RestartCount: scene.restarts,
		Ready:        scene.ready,
	}
	started := scene.stage == running
	status.Started = &started
	var last *corev1.ContainerStateTerminated
	if scene.last != nil {
		last = &corev1.ContainerStateTerminated{
			ExitCode:    scene.last.code,
			Reason:      "Completed",
			StartedAt:   *seconds(scene.last.started),
			FinishedAt:  *seconds(scene.last.finished),
			ContainerID: status.ContainerID,
		}
		if last.ExitCode != 0 {
			last.Reason = "Error"
		}
	}
	switch scene.stage {
	case running:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: *seconds(scene.started)}
		status.LastTerminationState.Terminated = last
	case backingOff:
		wait := scene.next.Sub(scene.last.finished)
		status.State.Waiting = &corev1.ContainerStateWaiting{
			Reason: crashLoopBackOff,
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
				wait, container.Name, pod.Name, pod.Namespace, pod.UID),
		}
		status.LastTerminationState.Terminated = last
	case terminated:
		status.State.Terminated = last
	}
	return status
}

const (
	imagePullBackOff = "ImagePullBackOff"
	crashLoopBackOff = "CrashLoopBackOff"
	configError      = "CreateContainerConfigError"
)

// waiting is the status of a container that hasn't started.
func waiting(container *corev1.Container, reason, message string) corev1.ContainerStatus {
	started := false
	return corev1.ContainerStatus{
		Name:    container.Name,
		Image:   container.Image,
		Started: &started,
		State:   corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}
