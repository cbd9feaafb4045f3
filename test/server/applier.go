package server

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Applier is a pequod-applier that runs as a local process beside the control
// plane, in which no container runs.
type Applier struct {
	command *exec.Cmd
	logFile string
	done    chan struct{} // closed when it has ended
}

// StartApplier starts a command and writes its output to the file log. It does
// not wait until the applier is ready.
func StartApplier(command *exec.Cmd, log string) (*Applier, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close() // the process has its own
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return nil, err
	}
	a := &Applier{command: command, logFile: log, done: make(chan struct{})}
	go func() {
		_ = command.Wait() // ProcessState has the result
		close(a.done)
	}()
	return a, nil
}

// Done returns a channel that is closed when the applier has ended.
func (a *Applier) Done() <-chan struct{} { return a.done }

// Pid returns the process id of the applier.
func (a *Applier) Pid() int { return a.command.Process.Pid }

// Stop terminates the applier and waits until it has ended. It returns an error
// with the log if the applier had ended before, exits with another code than 0,
// or does not exit within patience, after which it is killed.
func (a *Applier) Stop(patience time.Duration) error {
	select {
	case <-a.done:
		return fmt.Errorf("pequod-applier has ended by itself: %s\n%s", a.command.ProcessState, a.Log())
	default:
	}
	_ = a.command.Process.Signal(syscall.SIGTERM) // it may end just now
	select {
	case <-a.done:
	case <-time.After(patience):
		_ = a.command.Process.Kill()
		<-a.done
	}
	if !a.command.ProcessState.Success() {
		return fmt.Errorf("pequod-applier: %s\n%s", a.command.ProcessState, a.Log())
	}
	return nil
}

// Log returns the end of the applier's log, at most 4 KiB, or the error of
// reading it.
func (a *Applier) Log() string {
	const most = 4 << 10
	text, err := os.ReadFile(a.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
