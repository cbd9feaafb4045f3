package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNonRoot(t *testing.T) {
	const (
		root  = `container has runAsNonRoot and image will run as root (pod: "web_shop(1234)", container: app)`
		user0 = `container's runAsUser breaks non-root policy (pod: "web_shop(1234)", container: app)`
	)
	nonRoot := func(b bool, user ...int64) *corev1.SecurityContext {
		s := &corev1.SecurityContext{RunAsNonRoot: &b}
		if len(user) > 0 {
			s.RunAsUser = &user[0]
		}
		return s
	}
	of := func(s *corev1.SecurityContext) *corev1.PodSecurityContext {
		return &corev1.PodSecurityContext{RunAsNonRoot: s.RunAsNonRoot, RunAsUser: s.RunAsUser}
	}
	for _, test := range []struct {
		image     string
		pod       *corev1.PodSecurityContext
		container *corev1.SecurityContext
		want      string // message, or the reason of another problem
	}{
		{image: "nginx"},
		{image: "nginx", pod: of(nonRoot(false))},
		{image: "nginx", pod: of(nonRoot(true)), want: root},
		{image: "nginx:1.29", container: nonRoot(true), want: root},
		{image: "library/nginx", container: nonRoot(true), want: root},
		{image: "docker.io/library/postgres:17@sha256:0123", container: nonRoot(true), want: root},
		{image: "nginx", pod: of(nonRoot(true)), container: nonRoot(false)},
		{image: "nginx", pod: of(nonRoot(true, 101))},
		{image: "nginx", pod: of(nonRoot(true)), container: nonRoot(true, 101)},
		{image: "app", pod: of(nonRoot(true, 101)), container: nonRoot(true, 0), want: user0},
		{image: "docker.io/nginxinc/nginx-unprivileged:1.29", pod: of(nonRoot(true))},
		{image: "registry.example.com/nginx:1.29", pod: of(nonRoot(true))},
		{image: "app", pod: of(nonRoot(true))},
		{image: "nginx:missing", pod: of(nonRoot(true)), want: imagePullBackOff},
	} {
		container := corev1.Container{Name: "app", Image: test.image, SecurityContext: test.container}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1234"},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, SecurityContext: test.pod, InitContainers: []corev1.Container{container}},
		}
		got := ""
		if waits := play(pod, start, start, time.Second).inits[0].State.Waiting; waits != nil {
			if got = waits.Reason; got == configError {
				got = waits.Message
			}
		}
		pod.Spec.InitContainers, pod.Spec.Containers = nil, []corev1.Container{container}
		status, _ := statusAt(pod, "10.244.0.1", start, start, time.Second)
		if (status.Phase == corev1.PodPending) != (test.want != "") {
			t.Errorf("%s: phase %s", test.image, status.Phase)
		}
		if got != test.want {
			t.Errorf("%s %+v %+v:\ngot  %s\nwant %s", test.image, test.pod, test.container, got, test.want)
		}
	}
}
