package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// prepareAgain is the time between two attempts to create a container.
const prepareAgain = 300 * time.Millisecond

// maxMessage is the size of a termination message in bytes, as a kubelet limits it.
const maxMessage = 4096

// all runs the init containers one after the other, and then the other containers together.
func (r *podProcesses) all(ctx context.Context) {
	for i := range r.pod.Spec.InitContainers {
		if code := r.create(ctx, &r.pod.Spec.InitContainers[i]); code != 0 {
			return
		}
	}
	r.set(func() { r.initialized = true })
	var running sync.WaitGroup
	for i := range r.pod.Spec.Containers {
		running.Go(func() { r.create(ctx, &r.pod.Spec.Containers[i]) })
	}
	running.Wait()
}

// set changes what the status reports.
func (r *podProcesses) set(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	r.wake()
}

// create runs a container and returns its exit code. A container that can't be created, because
// a Secret is missing, is tried again.
func (r *podProcesses) create(ctx context.Context, c *corev1.Container) int {
	for {
		cmd, err := r.prepare(ctx, c)
		if err == nil {
			r.set(func() { r.problem = "" })
			return r.execute(ctx, c, cmd)
		}
		r.set(func() { r.problem = err.Error() })
		select {
		case <-ctx.Done():
			r.terminate(ctx, c, exitKilled, metav1.Now(), "")
			return exitKilled
		case <-time.After(prepareAgain):
		}
	}
}

// terminate records the end of a container. With the end of the last one, the status has the reason.
func (r *podProcesses) terminate(ctx context.Context, c *corev1.Container, code int, started metav1.Time, message string) {
	end := &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", Message: message,
		StartedAt: *seconds(started.Time), FinishedAt: *seconds(time.Now()),
	}
	if code != 0 {
		end.Reason = "Error"
	}
	r.set(func() {
		r.states[c.Name] = corev1.ContainerState{Terminated: end}
		r.expired = errors.Is(ctx.Err(), context.DeadlineExceeded)
	})
}

// prepare returns the command of a container. There is no file system of its own, so paths in its
// volumes, and that of the termination message, are replaced where a command word or a value of
// the environment begins with one.
func (r *podProcesses) prepare(ctx context.Context, c *corev1.Container) (*exec.Cmd, error) {
	if r.pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return nil, errors.New("processes require restartPolicy Never")
	}
	if err := verifyNonRoot(r.pod, c); err != nil {
		return nil, err
	}
	if len(c.Command) == 0 {
		return nil, errors.New("processes require a command, since there is no image")
	}
	paths, err := r.mount(ctx, c)
	if err != nil {
		return nil, err
	}
	paths = append(paths, path{r.messagePath(c), r.messageFile(c)})
	env, err := r.environment(ctx, c)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, word := range append(append([]string{}, c.Command...), c.Args...) {
		words = append(words, locate(expansion.Expand(word, expansion.MappingFuncFor(env)), paths))
	}
	programs := r.pod.Annotations[RunFrom]
	program := words[0]
	if program == c.Command[0] {
		program = filepath.Join(programs, filepath.Base(program))
	}
	cmd := exec.Command(program, words[1:]...)
	cmd.Dir = r.join("work", c.Name)
	if c.WorkingDir != "" {
		if cmd.Dir = locate(c.WorkingDir, paths); cmd.Dir == c.WorkingDir {
			return nil, fmt.Errorf("workingDir %s is in no volume", c.WorkingDir)
		}
	}
	kubeconfig, err := r.kubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	cmd.Env = []string{"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + cmd.Dir, "KUBECONFIG=" + kubeconfig}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+locate(value, paths))
	}
	return cmd, os.MkdirAll(cmd.Dir, 0o700)
}

// path is a path in a container with the local one.
type path struct{ inside, local string }

// locate replaces the beginning of a word, or of what follows "=" in it, if it is one of the
// paths.
func locate(word string, paths []path) string {
	option, rest, isOption := strings.Cut(word, "=")
	if isOption && strings.HasPrefix(option, "-") {
		return option + "=" + locate(rest, paths)
	}
	for _, p := range paths {
		if tail, ok := strings.CutPrefix(word, p.inside); ok && (tail == "" || tail[0] == '/') {
			return p.local + tail
		}
	}
	return word
}

// execute runs a command until it ends or ctx is done, and returns its exit code.
func (r *podProcesses) execute(ctx context.Context, c *corev1.Container, cmd *exec.Cmd) int {
	log, err := os.Create(r.LogFile(c.Name))
	if err != nil {
		r.terminate(ctx, c, 128, metav1.Now(), err.Error())
		return 128
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal is sent when the thread ends, not the process
	defer runtime.UnlockOSThread()
	started := metav1.Now()
	if err := cmd.Start(); err != nil {
		r.terminate(ctx, c, 128, started, err.Error())
		return 128
	}
	r.set(func() {
		r.states[c.Name] = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *seconds(started.Time)}}
	})
	exited := make(chan struct{})
	go func() {
		select {
		case <-exited:
			return
		case <-ctx.Done():
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-exited:
		case <-time.After(r.patience()):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	_ = cmd.Wait() // ProcessState has the result
	close(exited)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // a container ends with its first process
	code := cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	r.terminate(ctx, c, code, started, r.message(c, code))
	return code
}

func (r *podProcesses) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grace
}

// LogFile returns the file with the output of a container.
func (r *podProcesses) LogFile(container string) string { return r.join(container + ".log") }

func (r *podProcesses) messagePath(c *corev1.Container) string {
	if c.TerminationMessagePath != "" {
		return c.TerminationMessagePath
	}
	return corev1.TerminationMessagePathDefault
}

func (r *podProcesses) messageFile(c *corev1.Container) string { return r.join(c.Name + ".message") }

// message returns the termination message of a container.
func (r *podProcesses) message(c *corev1.Container, code int) string {
	file, err := os.Open(r.messageFile(c))
	if err == nil {
		defer file.Close()
		data, _ := io.ReadAll(io.LimitReader(file, maxMessage)) // what can't be read is missing
		if len(data) > 0 {
			return string(data)
		}
	}
	if c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError || code == 0 {
		return ""
	}
	log, _ := os.ReadFile(r.LogFile(c.Name)) // what can't be read is missing
	return string(log[max(0, len(log)-2048):])
}

func (r *podProcesses) join(names ...string) string {
	return filepath.Join(append([]string{r.dir}, names...)...)
}
