package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/executor"
)

// pod returns the last Pod of a Job, or nil.
func (j Jobs) pod(ctx context.Context, run executor.Run, job *batchv1.Job) (*corev1.Pod, error) {
	client, err := j.Accounts.Client(run.Namespace, run.Account)
	if err != nil {
		return nil, err
	}
	list, err := client.Pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(job.UID)})
	if err != nil {
		return nil, Failure(err)
	}
	var last *corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; last == nil || last.CreationTimestamp.Before(&p.CreationTimestamp) {
			last = p
		}
	}
	return last, nil
}

// waits returns what a Pod waits for, or "".
func waits(pod *corev1.Pod) string {
	if pod == nil {
		return "the Job has no Pod yet"
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return executor.Excerpt("the Pod isn't scheduled: " + c.Message)
		}
	}
	for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return executor.Excerpt(fmt.Sprintf("container %s waits: %s: %s", c.Name, w.Reason, w.Message))
		}
	}
	return ""
}

// failed returns why a Job has failed: by the container that failed, if there is one.
func failed(condition *batchv1.JobCondition, pod *corev1.Pod) string {
	if pod != nil {
		for _, c := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
			t := c.State.Terminated
			if t == nil || t.ExitCode == 0 {
				continue
			}
			text := fmt.Sprintf("container %s ended with exit code %d (%s)", c.Name, t.ExitCode, t.Reason)
			if t.Message != "" {
				text += ": " + executor.Excerpt(t.Message)
			}
			return text
		}
		if pod.Status.Reason != "" {
			return executor.Excerpt(fmt.Sprintf("the Pod failed: %s: %s", pod.Status.Reason, pod.Status.Message))
		}
	}
	return executor.Excerpt(fmt.Sprintf("the Job failed: %s: %s", condition.Reason, condition.Message))
}

// restrict sets what the Pod security standard "restricted" requires, where a template leaves it
// open.
func restrict(spec *corev1.PodSpec) {
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if s := spec.SecurityContext; s.RunAsNonRoot == nil {
		s.RunAsNonRoot = new(true)
	}
	if s := spec.SecurityContext; s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			if s := c.SecurityContext; s.AllowPrivilegeEscalation == nil && (s.Privileged == nil || !*s.Privileged) {
				s.AllowPrivilegeEscalation = new(false)
			}
			if s := c.SecurityContext; s.Capabilities == nil {
				s.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
			}
		}
	}
}
