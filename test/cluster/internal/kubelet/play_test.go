package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 900_000_000, time.UTC)

func TestScript(t *testing.T) {
	type moment struct {
		after    time.Duration
		stage    stage
		ready    bool
		restarts int32
		next     time.Duration // from start; 0: never
	}
	tests := []struct {
		name        string
		image       string
		annotations map[string]string
		restart     corev1.RestartPolicy
		job         bool
		want        []moment
	}{{
		name: "runs at once and for good",
		want: []moment{{0, running, true, 0, 0}, {time.Hour, running, true, 0, 0}},
	}, {
		name:  "an image that can't be pulled",
		image: "registry.example:5000/app:missing",
		want:  []moment{{0, pulling, false, 0, 0}, {time.Hour, pulling, false, 0, 0}},
	}, {
		name:  "a port isn't a tag",
		image: "missing:5000/crash",
		want:  []moment{{0, running, true, 0, 0}},
	}, {
		name:  "a tag with a digest",
		image: "app:never-ready@sha256:0123",
		want:  []moment{{time.Hour, running, false, 0, 0}},
	}, {
		name:        "ready after a delay",
		annotations: map[string]string{ReadyAfter: "2s"},
		want:        []moment{{0, running, false, 0, 2 * time.Second}, {2 * time.Second, running, true, 0, 0}},
	}, {
		name:        "never ready",
		annotations: map[string]string{ReadyAfter: "never"},
		want:        []moment{{time.Hour, running, false, 0, 0}},
	}, {
		name:        "the tag wins over the annotation",
		image:       "app:ready-after-1s",
		annotations: map[string]string{ReadyAfter: "never"},
		want:        []moment{{0, running, false, 0, time.Second}, {time.Second, running, true, 0, 0}},
	}, {
		name:  "crashes after its start, again and again, with more and more time between",
		image: "app:crash-after-1s",
		want: []moment{
			{0, running, true, 0, time.Second},
			{time.Second, backingOff, false, 0, 2 * time.Second},
			{2 * time.Second, running, true, 1, 3 * time.Second},
			{3 * time.Second, backingOff, false, 1, 5 * time.Second},
			{5 * time.Second, running, true, 2, 6 * time.Second},
		},
	}, {
		name:        "recovers",
		annotations: map[string]string{ExitCode: "2", ExitTimes: "1", ReadyAfter: "500ms"},
		want: []moment{
			{0, backingOff, false, 0, time.Second},
			{time.Second, running, false, 1, 1500 * time.Millisecond},
			{1500 * time.Millisecond, running, true, 1, 0},
		},
	}, {
		name: "a Job's Pod succeeds", restart: corev1.RestartPolicyNever, job: true,
		want: []moment{{0, terminated, false, 0, 0}},
	}, {
		name: "a Job's Pod takes its time", restart: corev1.RestartPolicyNever, job: true,
		annotations: map[string]string{ExitAfter: "3s"},
		want:        []moment{{0, running, true, 0, 3 * time.Second}, {3 * time.Second, terminated, false, 0, 0}},
	}, {
		name: "OnFailure starts again what failed", restart: corev1.RestartPolicyOnFailure, job: true, image: "job:exit-3",
		want: []moment{{0, backingOff, false, 0, time.Second}},
	}, {
		name: "Never doesn't", restart: corev1.RestartPolicyNever, image: "job:exit-3",
		want: []moment{{0, terminated, false, 0, 0}},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}}
			if pod.Spec.RestartPolicy = test.restart; test.restart == "" {
				pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			}
			if test.job {
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job"}}
			}
			script, err := scriptOf(pod, &corev1.Container{Image: test.image}, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				scene := script.at(start, start.Add(want.after))
				got := moment{want.after, scene.stage, scene.ready, scene.restarts, 0}
				if !scene.next.IsZero() {
					got.next = scene.next.Sub(start)
				}
				if got != want {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
			}
		})
	}
}

func TestScriptRejectsWhatItCannotRead(t *testing.T) {
	for _, annotations := range []map[string]string{
		{ReadyAfter: "soon"}, {ExitAfter: "1"}, {ExitCode: "x"}, {ExitTimes: "1.5"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		if _, err := scriptOf(pod, &corev1.Container{Image: "app"}, time.Second); err == nil {
			t.Errorf("%v: no error", annotations)
		}
	}
	for _, image := range []string{"app:exit-", "app:crash-after-x", "app:ready-after-1"} {
		if _, err := scriptOf(&corev1.Pod{}, &corev1.Container{Image: image}, time.Second); err == nil {
			t.Errorf("%s: no error", image)
		}
	}
}
