package job

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestEndOf checks that the outputs of a run are those of the named container, although the kubelet
// sorts the statuses of containers by name.
func TestEndOf(t *testing.T) {
	pod := &corev1.Pod{}
	for _, name := range []string{"agent", "main"} {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: name}},
		})
	}
	if end := endOf(pod, "main"); end == nil || end.Message != "main" {
		t.Errorf("the end of main is %v", end)
	}
	if end := endOf(pod, "other"); end != nil {
		t.Errorf("the end of a container that isn't there is %v", end)
	}
}
