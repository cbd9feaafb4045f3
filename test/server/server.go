// Package server builds the test control plane, which is a module and a
// program of its own in test/cluster/, and runs it as a child process.
//
// Start is the entry point; package harness is what tests use. A Server
// ends with the process that started it, even if that is killed: it watches
// the pipe that only its parent holds open.
package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options say what to start.
type Options struct {
	// DataDir keeps the cluster's state; without one it is thrown away.
	DataDir string
	// Nodes is how many nodes there are; 0 is the program's default.
	Nodes int
	// Log is told when something has to be compiled; it may be nil.
	Log io.Writer
}

// Server is a control plane that runs, or ran. Its methods may be called
// concurrently, but Restart only when it has ended.
type Server struct {
	opts   Options
	binary string
	mu     sync.Mutex
	now    *process
}

// process is one run of the program.
type process struct {
	command    *exec.Cmd
	stdin      io.Closer
	stderr     *tail
	kubeconfig string
	done       chan struct{} // closed when it has ended
	err        error         // why; read after done
}

// startPatience bounds a start on a machine that is busy with other things.
const startPatience = 4 * time.Minute

// Start builds the control plane if need be, starts it, and returns when it is
// usable. When ctx is done before that, the control plane ends; later ctx has
// no effect.
func Start(ctx context.Context, opts Options) (*Server, error) {
	binary, err := Build(ctx, opts.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, binary: binary}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart starts a server that has ended again, on the same data directory and
// the same port.
func (s *Server) Restart(ctx context.Context) error {
	args := []string{"-exit-with-stdin"}
	if s.opts.DataDir != "" {
		args = append(args, "-data-dir", s.opts.DataDir)
	}
	if s.opts.Nodes != 0 {
		args = append(args, "-nodes", fmt.Sprint(s.opts.Nodes))
	}
	next, err := run(ctx, exec.Command(s.binary, args...))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = next
	return nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Server) Kubeconfig() string { return s.current().kubeconfig }

// Log is the path of the file that the control plane logs to.
func (s *Server) Log() string { return filepath.Join(filepath.Dir(s.Kubeconfig()), "server.log") }

// Pid is the id of the control plane's process.
func (s *Server) Pid() int { return s.current().command.Process.Pid }

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.current().done }

// Stop lets the server end cleanly and waits for it.
func (s *Server) Stop() error {
	p := s.current()
	_ = p.stdin.Close()
	<-p.done
	return p.err
}

// Kill ends the server without giving it a chance to do anything, as a crash
// would.
func (s *Server) Kill() error {
	p := s.current()
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// run starts the program and waits for the line that says it is usable.
func run(ctx context.Context, command *exec.Cmd) (*process, error) {
	p := &process{command: command, stderr: &tail{}, done: make(chan struct{})}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	first := &firstLine{line: make(chan string, 1)}
	command.Stdout, command.Stderr = first, p.stderr
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("test cluster: %w", err)
	}
	go func() {
		p.err = command.Wait()
		close(p.done)
	}()
	timeout := time.NewTimer(startPatience)
	defer timeout.Stop()
	select {
	case p.kubeconfig = <-first.line:
		return p, nil
	case <-p.done:
		err = cmp.Or(p.err, errors.New("it ended by itself"))
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("not usable after %s", startPatience)
	}
	// It may have ended already, which is as well.
	_ = command.Process.Kill()
	<-p.done
	return nil, fmt.Errorf("test cluster: starting: %w\n%s", err, p.stderr)
}

// firstLine sends the first line that is written to it.
type firstLine struct {
	line chan string
	seen bytes.Buffer
	sent bool
}

func (f *firstLine) Write(data []byte) (int, error) {
	if f.sent {
		return len(data), nil
	}
	f.seen.Write(data)
	if line, err := bufio.NewReader(bytes.NewReader(f.seen.Bytes())).ReadString('\n'); err == nil {
		f.sent = true
		f.line <- strings.TrimSpace(line)
	}
	return len(data), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(data []byte) (int, error) {
	const keep = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	t.data = t.data[max(0, len(t.data)-keep):]
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
