package reaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxOutput is how much of the output of a command is kept in bytes, and execTime how long a
// command may run by default.
const (
	maxOutput = 4 << 10
	execTime  = 30 * time.Second
)

// exec runs a command in a container of the Pod that the rule has fired for.
func (r *Reactor) exec(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.ExecReaction, on monitor.Occasion) (string, error) {
	if !r.Exec {
		return "", errExec
	}
	config, http := r.Accounts.As(m.Namespace, m.Spec.ServiceAccountName)
	client, err := typedcorev1.NewForConfigAndClient(config, http)
	if err != nil {
		return "", err
	}
	pod, err := client.Pods(m.Namespace).Get(ctx, on.Target, metav1.GetOptions{})
	if err != nil {
		//lint:ignore ST1005 it begins with a kind
		return "", fmt.Errorf("Pod %s: %s", on.Target, identity.Reason(err))
	}
	if string(pod.UID) != on.UID {
		//lint:ignore ST1005 it begins with a kind
		return "", fmt.Errorf("Pod %s was replaced", on.Target)
	}
	container, err := containerOf(pod, do.Container)
	if err != nil {
		return "", err
	}
	request := client.RESTClient().Post().Resource("pods").Namespace(m.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command(do), Stdout: true, Stderr: true}, scheme.ParameterCodec)
	// Streams need a connection of their own, so the account is a part of the configuration.
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + m.Namespace + ":" + m.Spec.ServiceAccountName}
	stream, err := remotecommand.NewSPDYExecutor(as, "POST", request.URL())
	if err != nil {
		return "", err
	}
	limit := verdict.Duration(do.Timeout, execTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out output
	err = stream.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &out})
	said := ""
	if do.ReportOutput {
		said = ": " + executor.Scrub(out.String(), redact.New())
	}
	var exit utilexec.CodeExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s in container %s has not ended within %s%s", do.Command[0], container, limit, said)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s in container %s exits with %d%s", do.Command[0], container, exit.Code, said)
	case err != nil:
		return "", fmt.Errorf("%s in container %s: %s", do.Command[0], container, identity.Reason(err))
	}
	return fmt.Sprintf("%s in container %s exits with 0%s", do.Command[0], container, said), nil
}

// command returns the arguments of a command. Kubernetes has no working directory, so a shell
// changes to it; the directory and the arguments are parameters of a script that doesn't vary.
func command(do *v1alpha1.ExecReaction) []string {
	if do.WorkingDir == "" {
		return do.Command
	}
	return append([]string{"/bin/sh", "-c", `cd -- "$1" && shift && exec "$@"`, "sh", do.WorkingDir}, do.Command...)
}

// containerOf returns the name of a container of a Pod.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	if name == "" && len(pod.Spec.Containers) > 0 {
		return pod.Spec.Containers[0].Name, nil
	}
	var all []string
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return name, nil
		}
		all = append(all, c.Name)
	}
	//lint:ignore ST1005 it begins with a kind
	return "", fmt.Errorf("Pod %s has no container %q; there are: %s", pod.Name, name, strings.Join(all, ", "))
}

// output keeps the beginning of what is written to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := maxOutput - o.text.Len(); room > 0 {
		o.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// String returns what is kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
