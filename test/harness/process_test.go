package harness_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// programs writes shell scripts, and returns their directory.
func programs(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nset -eu\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ended waits until the only container of a Pod has ended.
func (c cluster) ended(t *testing.T, name string) (*corev1.Pod, *corev1.ContainerStateTerminated) {
	t.Helper()
	var pod *corev1.Pod
	harness.Eventually(t, patience, func(ctx context.Context) (err error) {
		if pod, err = c.Client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("%s: %+v", name, pod.Status)
		}
		return nil
	})
	return pod, pod.Status.ContainerStatuses[0].State.Terminated
}

// TestProcess runs the containers of a Pod as processes, with the environment, the files and the
// access that a Pod has.
func TestProcess(t *testing.T) {
	t.Parallel()
	c := start(t)
	dir := programs(t, map[string]string{
		"prepare": `cat "$1" > "$2"`,
		"report":  `echo "$PASSWORD $NAME $SIZE $(cat "$1") $2" > "$3"; grep -q 'token: ey' "$KUBECONFIG"; exit 3`,
	})
	c.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: report, annotations: {testcluster.pequod.io/run-from: %s}}
spec:
  restartPolicy: Never
  initContainers:
  - {name: prepare, image: any, command: [/bin/prepare, /config/size, /data/size], volumeMounts: [{name: config, mountPath: /config}, {name: work, mountPath: /data}]}
  containers:
  - name: report
    image: any
    command: [/usr/bin/report]
    args: [/data/size, "--name=$(NAME)", /dev/termination-log]
    env:
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: later, key: password}}}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: SIZE, valueFrom: {configMapKeyRef: {name: config, key: size}}}
    volumeMounts: [{name: work, mountPath: /data}]
  volumes: [{name: config, configMap: {name: config}}, {name: work, emptyDir: {}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {size: "12"}
`, dir))
	// A Secret that is missing keeps the container from running.
	harness.Eventually(t, patience, func(ctx context.Context) error {
		pod, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, "report", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := summary(pod); got != "Pending/ContainersNotReady/CreateContainerConfigError" {
			return fmt.Errorf("the Pod is %s", got)
		}
		return nil
	})
	c.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {name: later}
stringData: {password: hunter2}
`)
	pod, end := c.ended(t, "report")
	if end.ExitCode != 3 || strings.TrimSpace(end.Message) != "hunter2 report 12 12 --name=report" || pod.Status.Phase != corev1.PodFailed {
		t.Errorf("%s: %+v", pod.Status.Phase, end)
	}
}

// TestProcessStopped deletes a Pod whose process ends on SIGTERM, one whose process ignores it,
// and lets the active deadline of a third one pass.
func TestProcessStopped(t *testing.T) {
	t.Parallel()
	c := start(t)
	out := t.TempDir()
	dir := programs(t, map[string]string{
		"polite":   `trap "echo ended > ` + out + `/polite; exit 0" TERM; echo $$ > ` + out + `/polite.pid; while :; do sleep 0.1; done`,
		"stubborn": `trap "" TERM; echo $$ > ` + out + `/stubborn.pid; while :; do sleep 0.1; done`,
		"late":     `while :; do sleep 0.1; done`,
	})
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {testcluster.pequod.io/run-from: %s}}
spec: {restartPolicy: Never, terminationGracePeriodSeconds: %d, %s containers: [{name: app, image: any, command: [%[1]s]}]}
`
	c.Apply(t, fmt.Sprintf(pod, "polite", dir, 3600, ""))
	c.Apply(t, fmt.Sprintf(pod, "stubborn", dir, 1, ""))
	c.Apply(t, fmt.Sprintf(pod, "late", dir, 1, "activeDeadlineSeconds: 1,"))
	for _, name := range []string{"polite", "stubborn"} {
		file := filepath.Join(out, name+".pid")
		harness.Eventually(t, patience, func(context.Context) error {
			_, err := os.Stat(file)
			return err
		})
		if err := c.Client.CoreV1().Pods(c.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, patience, func(ctx context.Context) error {
			_, err := c.Client.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("the Pod is there"), err)
			}
			return nil
		})
		pid, _ := os.ReadFile(file)
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
			t.Errorf("%s: the process %s runs after its Pod", name, pid)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "polite")); err != nil {
		t.Errorf("the process got no SIGTERM: %v", err)
	}
	late, end := c.ended(t, "late")
	if late.Status.Reason != "DeadlineExceeded" || end.ExitCode == 0 {
		t.Errorf("%s %+v", late.Status.Reason, end)
	}
}
