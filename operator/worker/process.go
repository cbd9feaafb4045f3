package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// process is a child process. One goroutine at a time uses it, but any may call kill.
type process struct {
	cmd    *exec.Cmd
	in     *os.File      // its standard input
	pipe   *os.File      // its standard output
	out    *bufio.Reader // reads pipe
	output *output       // its standard error
	number uint64        // the number of the last request
	// exited is closed when the process has ended and was waited for.
	exited chan struct{}
}

// startProcess starts a process with nothing but its pipes. spawn calls a function on a
// thread that lives as long as the pool.
func startProcess(command []string, memory uint64, spawn func(func() error) error, log logr.Logger) (*process, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		closeAll(stdin, in)
		return nil, err
	}
	p := &process{in: in, pipe: out, out: bufio.NewReader(out), output: &output{log: log}, exited: make(chan struct{})}
	// An evaluation uses one processor. With a second one, the garbage collector does not keep
	// the requests of webhooks waiting.
	p.cmd = &exec.Cmd{
		Path: command[0], Args: command, Dir: os.TempDir(),
		Env:   []string{"GOMAXPROCS=2", "GOMEMLIMIT=" + strconv.FormatUint(memory/4*3, 10)},
		Stdin: stdin, Stdout: stdout, Stderr: p.output, SysProcAttr: attributes(),
		WaitDelay: time.Second,
	}
	err = spawn(p.cmd.Start)
	closeAll(stdin, stdout) // these ends belong to the child
	if err != nil {
		closeAll(in, out)
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // explain reads the state
		closeAll(in)     // out may still have an answer
		close(p.exited)
	}()
	return p, nil
}

// closeAll closes pipes. Closing has no error that matters.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// exchange sends a request and returns its answer. more, if not nil, writes what follows the
// request. The process is killed if it takes longer than limit. After an error the process
// must not be used again.
func (p *process) exchange(request protocol.Request, more func(io.Writer) error, limit time.Duration) (*protocol.Answer, error) {
	p.number++
	request.ID = p.number
	data, err := protocol.Encode(request)
	if err != nil {
		return nil, err
	}
	if len(data) > protocol.MaxRequest {
		return nil, &requestError{fmt.Errorf("the object is too large: %d bytes", len(data))}
	}
	var late atomic.Bool
	timer := time.AfterFunc(limit, func() { late.Store(true); p.kill() })
	defer timer.Stop()
	answer, err := p.send(data, more)
	switch {
	case err == nil:
		return answer, nil
	case late.Load():
		return nil, errLate
	}
	return nil, err
}

// errLate reports that a process was killed because it did not answer.
var errLate = errors.New("no answer in time")

// requestError is an error of a request that was not sent.
type requestError struct{ error }

// send writes a request and reads its answer, which has the last number.
func (p *process) send(request []byte, more func(io.Writer) error) (*protocol.Answer, error) {
	if err := protocol.WriteFrame(p.in, request); err != nil {
		return nil, err
	}
	if more != nil {
		if err := more(p.in); err != nil {
			return nil, err
		}
	}
	data, err := protocol.ReadFrame(p.out, protocol.MaxAnswer)
	if err != nil {
		return nil, err
	}
	answer := &protocol.Answer{}
	if err := json.Unmarshal(data, answer); err != nil {
		return nil, fmt.Errorf("reading its answer: %w", err)
	}
	if answer.ID != p.number {
		return nil, fmt.Errorf("it answered request %d, not %d", answer.ID, p.number)
	}
	return answer, nil
}

// kill ends the process. It may have ended already.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// end ends the process, waits for its end and closes its pipes.
func (p *process) end() {
	p.kill()
	<-p.exited
	closeAll(p.pipe)
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// explain ends the process after an error of exchange. It returns the error with the way in
// which the process ended by itself, if it did, and with what it printed first.
func (p *process) explain(err error) error {
	how := ""
	// The end of a process closes its output before it is known.
	if slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, os.ErrClosed}, func(end error) bool { return errors.Is(err, end) }) {
		select {
		case <-p.exited:
			if how = p.cmd.ProcessState.String(); how == "signal: killed" {
				how += ", as when the container is out of memory"
			}
			how, err = "evaluation process ended: "+how, nil
		case <-time.After(time.Second):
		}
	}
	p.end()
	if said := p.output.reason(); said != "" {
		how = strings.TrimPrefix(how+": "+said, ": ")
	}
	switch {
	case err == nil:
		return errors.New(how)
	case how != "":
		return fmt.Errorf("evaluation process: %w: %s", err, how)
	}
	return fmt.Errorf("evaluation process: %w", err)
}

// private returns the memory that the process has and shares with no other, in bytes, or 0 where the system doesn't
// tell; see proc_pid_statm(5). The program itself is shared.
func (p *process) private() uint64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	var size, resident, shared uint64
	if _, err := fmt.Sscan(string(data), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - min(shared, resident)) * uint64(os.Getpagesize())
}
