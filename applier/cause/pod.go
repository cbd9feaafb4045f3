package cause

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/internal/source"
)

// trouble is what keeps one Pod from being ready.
type trouble struct {
	rank rank
	pod  string
	uid  types.UID
	text string
	// reasons are those of the Events that would say more.
	reasons []string
	// trim makes of the message of such an Event what is added to the text, ""
	// if it says nothing.
	trim func(message string) string
}

// rank orders troubles, the most telling first.
type rank int

const (
	image rank = iota
	config
	crash
	ended
	unscheduled
	weak // from here on it may still come by itself
	gated
	notReady
	none
)

// worstOf returns the most telling trouble, and how many Pods have it.
func worstOf(pods []corev1.Pod) (worst trouble, alike int) {
	worst.rank = none
	for i := range pods {
		switch t := judge(&pods[i]); {
		case t.rank < worst.rank:
			worst, alike = t, 1
		case t.rank == worst.rank && t.rank != none && t.text == worst.text:
			alike++
		}
	}
	return worst, alike
}

func (t trouble) line(alike int, detail string) string {
	line := "pod " + t.pod + ": " + t.text + detail
	if alike < 2 {
		return line
	}
	// The number must not be what falls victim to a long message.
	suffix := fmt.Sprintf("; %d pods alike", alike)
	return source.OneLine(line, maxLine-len(suffix)) + suffix
}

// judge says what keeps a Pod from being ready.
func judge(pod *corev1.Pod) trouble {
	t := trouble{rank: none, pod: pod.Name, uid: pod.UID}
	if ready(pod) || pod.Status.Phase == corev1.PodSucceeded {
		return t
	}
	if pod.Status.Phase == corev1.PodFailed && (pod.Status.Reason != "" || pod.Status.Message != "") {
		t.rank, t.text = ended, "failed: "+join(pod.Status.Reason, pod.Status.Message)
		return t
	}
	for _, list := range []struct {
		statuses []corev1.ContainerStatus
		specs    []corev1.Container
		noun     string
	}{
		{pod.Status.InitContainerStatuses, pod.Spec.InitContainers, "init container "},
		{pod.Status.ContainerStatuses, pod.Spec.Containers, "container "},
	} {
		for i := range list.statuses {
			var spec corev1.Container
			for _, s := range list.specs {
				if s.Name == list.statuses[i].Name {
					spec = s
				}
			}
			t.consider(container(&list.statuses[i], &spec, list.noun+list.statuses[i].Name))
		}
	}
	t.consider(scheduling(pod))
	t.consider(gates(pod))
	return t
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (t *trouble) consider(other trouble) {
	if other.rank < t.rank {
		other.pod, other.uid = t.pod, t.uid
		*t = other
	}
}

func scheduling(pod *corev1.Pod) trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		if c.Reason == corev1.PodReasonSchedulingGated {
			return trouble{rank: gated, text: "isn't scheduled: " + join(c.Reason, c.Message)}
		}
		// What the scheduler says of preemption repeats the number of nodes.
		message, _, _ := strings.Cut(c.Message, " preemption: ")
		if message == "" {
			message = c.Reason
		}
		return trouble{rank: unscheduled, text: "can't be scheduled: " + message}
	}
	return trouble{rank: none}
}

// gates are conditions that others set and that the Pod waits for once all its
// containers are ready.
func gates(pod *corev1.Pod) trouble {
	for _, gate := range pod.Spec.ReadinessGates {
		met := false
		for _, c := range pod.Status.Conditions {
			met = met || c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}
		if !met {
			return trouble{rank: notReady, text: "waits for its readiness gate " + string(gate.ConditionType)}
		}
	}
	return trouble{rank: none}
}

func join(reason, message string) string {
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}
