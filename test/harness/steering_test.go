package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// What a Pod's annotations and image tags ask for, case by case, is tested
// where it is decided, in test/cluster/internal/kubelet; this holds that it
// reaches the cluster.
func TestSteering(t *testing.T) {
	t.Parallel()
	c := start(t)
	begin := time.Now() // before the Pod exists, so that a slow request doesn't look like an early Pod
	c.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: slow, annotations: {testcluster.pequod.io/ready-after: 2s}}
spec: {containers: [{name: app, image: app}]}
---
apiVersion: v1
kind: Pod
metadata: {name: never, annotations: {testcluster.pequod.io/ready-after: never}}
spec: {containers: [{name: app, image: app}]}
---
apiVersion: v1
kind: Pod
metadata: {name: missing}
spec: {containers: [{name: app, image: "registry.example:5000/app:missing"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec: {containers: [{name: app, image: "app:crash-after-100ms"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: recovers, annotations: {testcluster.pequod.io/exit-code: "2", testcluster.pequod.io/exit-times: "1"}}
spec: {containers: [{name: app, image: app}]}
---
apiVersion: v1
kind: Pod
metadata: {name: toolarge}
spec: {containers: [{name: app, image: app, resources: {requests: {cpu: 1k}}}]}
`)
	for name, want := range map[string]string{
		"never":    "Running/ContainersNotReady/",
		"missing":  "Pending/ContainersNotReady/ImagePullBackOff",
		"crash":    "Running/ContainersNotReady/CrashLoopBackOff",
		"toolarge": "Pending//",
		"recovers": "Running//",
		"slow":     "Running//",
	} {
		harness.Eventually(t, patience, func(ctx context.Context) error {
			pod, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := summary(pod); got != want {
				return fmt.Errorf("%s: %s, want %s", name, got, want)
			}
			if name == "toolarge" && !unschedulable(pod) {
				return fmt.Errorf("%s: not unschedulable: %+v", name, pod.Status.Conditions)
			}
			if restarts := pod.Status.ContainerStatuses; name == "recovers" && restarts[0].RestartCount != 1 {
				return fmt.Errorf("%s: %+v", name, restarts)
			}
			return nil
		})
		if took := time.Since(begin); name == "slow" && took < 1500*time.Millisecond {
			t.Errorf("%s: ready after %s", name, took)
		}
	}
}

// summary is a Pod's phase, why it isn't Ready, and what its container waits
// for.
func summary(pod *corev1.Pod) string {
	reason, waits := "", ""
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			reason = condition.Reason
		}
	}
	for _, container := range pod.Status.ContainerStatuses {
		if container.State.Waiting != nil {
			waits = container.State.Waiting.Reason
		}
	}
	return fmt.Sprintf("%s/%s/%s", pod.Status.Phase, reason, waits)
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// A Pod may take its time to go, but no longer than its grace period.
func TestSlowTermination(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: lingers, annotations: {testcluster.pequod.io/terminate-after: 1h}}
spec: {terminationGracePeriodSeconds: 3, containers: [{name: app, image: app}]}
`)
	harness.Eventually(t, patience, func(ctx context.Context) error { return c.running(ctx, "lingers") })
	begin := time.Now()
	if err := c.Client.CoreV1().Pods(c.Namespace).Delete(t.Context(), "lingers", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error { return c.gone(ctx, "lingers") })
	// The times of the API are cut to seconds.
	if took := time.Since(begin); took < 2*time.Second {
		t.Errorf("gone after %s", took)
	}
}
