package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

func TestStatus(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	images := func(all ...string) (containers []corev1.Container) {
		for _, image := range all {
			containers = append(containers, corev1.Container{Name: image, Image: "app:" + image})
		}
		return containers
	}
	tests := []struct {
		name        string
		spec        corev1.PodSpec
		conditions  []corev1.PodCondition
		phase       corev1.PodPhase
		initialized bool
		reason      string // why it isn't Ready; "" if it is
		waits       string // reason of the first container that waits
	}{{
		name:  "runs",
		spec:  corev1.PodSpec{Containers: images("a", "b")},
		phase: corev1.PodRunning, initialized: true,
	}, {
		name:  "one of two can't be pulled",
		spec:  corev1.PodSpec{Containers: images("a", "missing")},
		phase: corev1.PodPending, initialized: true, reason: "ContainersNotReady", waits: "ImagePullBackOff",
	}, {
		name:  "a crash loop is Running",
		spec:  corev1.PodSpec{Containers: images("a", "crash")},
		phase: corev1.PodRunning, initialized: true, reason: "ContainersNotReady", waits: "CrashLoopBackOff",
	}, {
		name:  "an annotation or tag that can't be read",
		spec:  corev1.PodSpec{Containers: images("exit-x")},
		phase: corev1.PodPending, initialized: true, reason: "ContainersNotReady", waits: "CreateContainerConfigError",
	}, {
		name:  "init containers come first",
		spec:  corev1.PodSpec{InitContainers: images("init"), Containers: images("a")},
		phase: corev1.PodRunning, initialized: true,
	}, {
		name:  "an init container that can't be pulled",
		spec:  corev1.PodSpec{InitContainers: images("missing", "init"), Containers: images("a")},
		phase: corev1.PodPending, reason: "ContainersNotReady", waits: "ImagePullBackOff",
	}, {
		name:  "an init container that fails for good",
		spec:  corev1.PodSpec{InitContainers: images("exit-3"), Containers: images("a"), RestartPolicy: corev1.RestartPolicyNever},
		phase: corev1.PodFailed, reason: "ContainersNotReady", waits: "PodInitializing",
	}, {
		name: "a sidecar keeps the Pod from being ready",
		spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "side", Image: "app:never-ready", RestartPolicy: &always}},
			Containers:     images("a"),
		},
		phase: corev1.PodRunning, initialized: true, reason: "ContainersNotReady",
	}, {
		name:  "done",
		spec:  corev1.PodSpec{Containers: images("exit-0"), RestartPolicy: corev1.RestartPolicyNever},
		phase: corev1.PodSucceeded, initialized: true, reason: "PodCompleted",
	}, {
		name:  "one of two failed",
		spec:  corev1.PodSpec{Containers: images("exit-0", "exit-1"), RestartPolicy: corev1.RestartPolicyNever},
		phase: corev1.PodFailed, initialized: true, reason: "ContainersNotReady",
	}, {
		name:  "a readiness gate that nobody opened",
		spec:  corev1.PodSpec{Containers: images("a"), ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "example.org/gate"}}},
		phase: corev1.PodRunning, initialized: true, reason: "ReadinessGatesNotReady",
	}, {
		name:       "a readiness gate that somebody opened",
		spec:       corev1.PodSpec{Containers: images("a"), ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "example.org/gate"}}},
		conditions: []corev1.PodCondition{{Type: "example.org/gate", Status: corev1.ConditionTrue}},
		phase:      corev1.PodRunning, initialized: true,
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: test.spec, Status: corev1.PodStatus{Conditions: test.conditions}}
			if pod.Spec.RestartPolicy == "" {
				pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			}
			now := start.Add(100 * time.Millisecond)
			status, _ := statusAt(pod, "10.244.0.1", start, now, time.Second)
			if status.Phase != test.phase {
				t.Errorf("phase %s, want %s", status.Phase, test.phase)
			}
			if got := conditionTrue(&status, corev1.PodInitialized); got != test.initialized {
				t.Errorf("initialized is %v", got)
			}
			for _, condition := range status.Conditions {
				if condition.Type == corev1.PodReady && (condition.Reason != test.reason || (condition.Status == corev1.ConditionTrue) != (test.reason == "")) {
					t.Errorf("Ready is %s, reason %q; want reason %q", condition.Status, condition.Reason, test.reason)
				}
			}
			if got := firstWaiting(status); got != test.waits {
				t.Errorf("waits for %q, want %q", got, test.waits)
			}

			pod.Status = status
			if again, _ := statusAt(pod, "10.244.0.1", start, now.Add(time.Millisecond), time.Second); !equality.Semantic.DeepEqual(again, status) {
				t.Errorf("a moment later it is another, so it would be written without end:\n%+v\n%+v", status, again)
			}
		})
	}
}

func firstWaiting(status corev1.PodStatus) string {
	for _, container := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
		if container.State.Waiting != nil {
			return container.State.Waiting.Reason
		}
	}
	return ""
}

func TestAddresses(t *testing.T) {
	ips := newAddresses()
	ips.keep("old", "10.244.0.2")
	got := []string{ips.of("a"), ips.of("b"), ips.of("a"), ips.of("old")}
	for i, want := range []string{"10.244.0.1", "10.244.0.3", "10.244.0.1", "10.244.0.2"} {
		if got[i] != want {
			t.Errorf("%d: got %s, want %s", i, got[i], want)
		}
	}
	ips.release("old")
	if ips.taken[ips.last.Prev()] {
		t.Error("an address outlives its Pod")
	}
}
