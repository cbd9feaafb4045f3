package kubelet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of a Pod that control its containers. Durations have Go's format
// ("1.5s").
const (
	// ReadyAfter is the duration that a container runs before it is ready, or
	// "never". On a Service of type LoadBalancer it is the delay before the
	// address is assigned.
	ReadyAfter = "testcluster.pequod.io/ready-after"
	// ExitAfter is the duration that a container runs before it exits. The
	// restart policy of the Pod decides whether it is started again.
	ExitAfter = "testcluster.pequod.io/exit-after"
	// ExitCode is the exit code. Without ExitAfter the container exits at once.
	ExitCode = "testcluster.pequod.io/exit-code"
	// ExitTimes is how often a container exits before it keeps running. By
	// default it always exits.
	ExitTimes = "testcluster.pequod.io/exit-times"
	// TerminateAfter is how long a deleted Pod takes to terminate, at most its
	// grace period. By default it terminates at once.
	TerminateAfter = "testcluster.pequod.io/terminate-after"
	// Address is the address of the Pod, such as one of the loopback network on which
	// the test has a server. By default it is one of a network that doesn't exist.
	Address = "testcluster.pequod.io/address"
	// Exec is "true" on Pods in whose containers commands can be executed. They run as
	// local processes.
	Exec = "testcluster.pequod.io/exec"
)

// Image tags that control a single container. "missing" cannot be pulled and
// "crash" exits with 1 at once. The others end in a value, as in
// "ready-after-2s", "crash-after-500ms" and "exit-3". A container with any other
// tag runs.
const (
	tagMissing    = "missing"
	tagNeverReady = "never-ready"
	tagReadyAfter = "ready-after-"
	tagCrash      = "crash"
	tagCrashAfter = "crash-after-"
	tagExit       = "exit-"
)

const never = "never"

// script is the simulated behavior of a container.
type script struct {
	unpullable bool
	neverReady bool
	readyAfter time.Duration
	exits      bool
	exitAfter  time.Duration
	exitCode   int32
	exitTimes  int // 0: always
	restart    corev1.RestartPolicy
	backoff    time.Duration
}

// scriptOf returns the script of an app container: from the annotations of its
// Pod, and from the tag of its image, which takes precedence. By default a
// container of a Job's Pod succeeds.
func scriptOf(pod *corev1.Pod, container *corev1.Container, backoff time.Duration) (script, error) {
	s := script{restart: pod.Spec.RestartPolicy, backoff: backoff, exits: ofJob(pod)}
	for _, step := range []struct {
		key  string
		read func(string) error
	}{
		{ReadyAfter, s.setReadyAfter},
		{ExitAfter, s.setExitAfter},
		{ExitCode, s.setExitCode},
		{ExitTimes, s.setExitTimes},
	} {
		value, given := pod.Annotations[step.key]
		if !given {
			continue
		}
		if err := step.read(value); err != nil {
			return s, fmt.Errorf("annotation %s: %w", step.key, err)
		}
	}
	return s, s.check(pod, container)
}

// initScriptOf returns the script of an init container, which only the tag of its
// image can change. By default it succeeds at once.
func initScriptOf(pod *corev1.Pod, container *corev1.Container, backoff time.Duration) (script, error) {
	s := script{restart: pod.Spec.RestartPolicy, backoff: backoff, exits: true}
	if s.restart == corev1.RestartPolicyAlways {
		s.restart = corev1.RestartPolicyOnFailure
	}
	if sidecar(container) {
		s.restart, s.exits = corev1.RestartPolicyAlways, false
	}
	return s, s.check(pod, container)
}

// check applies the tag of a container's image, and returns why the container can't be
// created, if it can't. A kubelet pulls an image before it checks its user.
func (s *script) check(pod *corev1.Pod, container *corev1.Container) error {
	if err := s.readTag(container.Image); err != nil || s.unpullable {
		return err
	}
	return verifyNonRoot(pod, container)
}

// readTag applies the tag of an image. Unknown tags have no effect.
func (s *script) readTag(image string) error {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(tag, ":")
	if !tagged {
		return nil
	}
	var err error
	if value, ok := strings.CutPrefix(tag, tagReadyAfter); ok {
		err = s.setReadyAfter(value)
	} else if value, ok := strings.CutPrefix(tag, tagCrashAfter); ok {
		s.exitCode = 1
		err = s.setExitAfter(value)
	} else if value, ok := strings.CutPrefix(tag, tagExit); ok {
		err = s.setExitCode(value)
	}
	if err != nil {
		return fmt.Errorf("image tag %s: %w", tag, err)
	}
	switch tag {
	case tagMissing:
		s.unpullable = true
	case tagNeverReady:
		s.neverReady = true
	case tagCrash:
		s.exits, s.exitCode = true, 1
	}
	return nil
}

// setReadyAfter parses a duration or "never".
func (s *script) setReadyAfter(value string) (err error) {
	if s.neverReady = value == never; s.neverReady {
		return nil
	}
	s.readyAfter, err = time.ParseDuration(value)
	return err
}

// setExitAfter parses a duration.
func (s *script) setExitAfter(value string) (err error) {
	s.exits = true
	s.exitAfter, err = time.ParseDuration(value)
	return err
}

// setExitCode parses an exit code.
func (s *script) setExitCode(value string) error {
	code, err := strconv.ParseInt(value, 10, 32)
	s.exits, s.exitCode = true, int32(code)
	return err
}

// setExitTimes parses a number of exits.
func (s *script) setExitTimes(value string) (err error) {
	s.exits = true
	s.exitTimes, err = strconv.Atoi(value)
	return err
}

// ofJob reports whether a Pod belongs to a Job.
func ofJob(pod *corev1.Pod) bool {
	for _, owner := range pod.OwnerReferences {
		if owner.Kind == "Job" && strings.HasPrefix(owner.APIVersion, "batch/") {
			return true
		}
	}
	return false
}

// sidecar reports whether an init container keeps running next to the app
// containers.
func sidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
