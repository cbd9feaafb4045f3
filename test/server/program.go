package server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Program is a program of ours, such as pequod-applier, that runs as a local
// process beside the control plane, in which no container runs.
type Program struct {
	command *exec.Cmd
	logFile string
	done    chan struct{} // closed when it has ended
}

// StartProgram starts a command and writes its output to the file log. It does
// not wait until the program is ready.
func StartProgram(command *exec.Cmd, log string) (*Program, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close() // the process has its own
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &Program{command: command, logFile: log, done: make(chan struct{})}
	go func() {
		_ = command.Wait() // ProcessState has the result
		close(p.done)
	}()
	return p, nil
}

// Done returns a channel that is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.done }

// Pid returns the process id of the program.
func (p *Program) Pid() int { return p.command.Process.Pid }

// Name returns the name of the program.
func (p *Program) Name() string { return filepath.Base(p.command.Path) }

// Stop terminates the program and waits until it has ended. It returns an error
// with the log if the program had ended before, exits with another code than 0,
// or does not exit within patience, after which it is killed.
func (p *Program) Stop(patience time.Duration) error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended by itself: %s\n%s", p.Name(), p.command.ProcessState, p.Log())
	default:
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may end just now
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.command.Process.Kill()
		<-p.done
	}
	if !p.command.ProcessState.Success() {
		return fmt.Errorf("%s: %s\n%s", p.Name(), p.command.ProcessState, p.Log())
	}
	return nil
}

// Log returns the end of the program's log, at most 4 KiB, or the error of
// reading it.
func (p *Program) Log() string {
	const most = 4 << 10
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}
