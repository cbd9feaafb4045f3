package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// Limits of the streams of a command.
const (
	streamIdle   = time.Hour
	streamCreate = 30 * time.Second
)

// execServer is the kubelets' endpoint for commands in containers. A command is run as a local
// process if the Pod has the annotation [Exec]. Like a kubelet, it doesn't end the process when
// the client goes away.
type execServer struct {
	ctx context.Context
	// pods are set when they are known.
	pods atomic.Pointer[listersv1.PodLister]
}

// serveExec serves the endpoint as long as the process lives, and returns its port.
func serveExec(e *execServer) int32 {
	server := httptest.NewUnstartedServer(e)
	server.EnableHTTP2 = false // streams need a connection of their own
	server.StartTLS()
	return int32(server.Listener.Addr().(*net.TCPAddr).Port)
}

// ServeHTTP implements [http.Handler] for /exec/NAMESPACE/POD/CONTAINER.
func (e *execServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[0] != "exec" {
		http.Error(w, "the fake kubelet executes commands and does nothing else", http.StatusNotFound)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, inNamespace{e, parts[1]}, parts[2], "", parts[3], r.URL.Query()["command"], options,
		streamIdle, streamCreate, remotecommand.SupportedStreamingProtocols)
}

// inNamespace executes commands in the Pods of a namespace.
type inNamespace struct {
	*execServer
	namespace string
}

// ExecInContainer implements [remotecommand.Executor].
func (e inNamespace) ExecInContainer(_ context.Context, name, _, container string, command []string,
	in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	pods := e.pods.Load()
	if pods == nil {
		return errors.New("the fake kubelet has not started")
	}
	pod, err := (*pods).Pods(e.namespace).Get(name)
	if err != nil {
		return err
	}
	if pod.Annotations[Exec] != "true" || !hasContainer(pod, container) {
		return fmt.Errorf("container %s of Pod %s doesn't run", container, name)
	}
	process := exec.CommandContext(e.ctx, command[0], command[1:]...)
	process.Stdin = in
	if out != nil {
		process.Stdout = out
	}
	if errs != nil {
		process.Stderr = errs
	}
	err = process.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// hasContainer reports whether a Pod has a container.
func hasContainer(pod *corev1.Pod, name string) bool {
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return true
		}
	}
	return false
}
