// Package server builds the test control plane, a module and program of its own
// in test/cluster/, and runs it as a child process.
//
// [Start] is the entry point; tests use package harness instead. A Server ends
// with the process that started it, even if that process is killed: the control
// plane exits when its standard input is closed, and only its parent holds that
// pipe open.
//
// build.go compiles the program if necessary and recipe.go decides whether it is
// necessary; server.go starts and stops it.
package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options configure a server.
type Options struct {
	// DataDir keeps the state of the cluster. If it is empty, the state is
	// deleted when the server ends.
	DataDir string
	// Log receives progress messages when something must be compiled. It may be
	// nil.
	Log io.Writer
	// FeatureGates are those of the API server, such as NAME=true; "" means the defaults.
	FeatureGates string
}

// Server is a control plane that is running or has run. Its methods are safe for
// concurrent use, except that Restart must not be called before the server has
// ended.
type Server struct {
	// opts and binary are those of the first start; Restart uses them again.
	opts   Options
	binary string
	// mu guards now, the latest run. It is never held while a run starts or ends.
	mu  sync.Mutex
	now *process
}

// process is one run of the control plane.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	// stderr has the last messages, for the error of a failed start.
	stderr *tail
	// kubeconfig is the first line that the program prints.
	kubeconfig string
	done       chan struct{} // closed when it has ended
	err        error         // why; read after done
}

// startPatience bounds the start on a busy machine. Usually it takes some
// seconds.
const startPatience = 4 * time.Minute

// stopPatience bounds a clean end. Usually it takes some seconds.
const stopPatience = 2 * time.Minute

// Start builds the control plane if necessary, starts it, and returns when it is
// usable. If ctx is done before that, the control plane is stopped; afterwards
// ctx has no effect.
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

// Restart starts a server that has ended again, with the same data directory and
// port.
func (s *Server) Restart(ctx context.Context) error {
	args := []string{"-exit-with-stdin"}
	if s.opts.DataDir != "" {
		args = append(args, "-data-dir", s.opts.DataDir)
	}
	if s.opts.FeatureGates != "" {
		args = append(args, "-feature-gates", s.opts.FeatureGates)
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

// Kubeconfig returns the path of the administrator's kubeconfig. The file has the
// address of the API server.
func (s *Server) Kubeconfig() string { return s.current().kubeconfig }

// DataDir returns the directory with the state of the cluster, "" if the server
// deletes it at its end.
func (s *Server) DataDir() string { return s.opts.DataDir }

// Log returns the path of the control plane's log file. Without a data directory
// the file is deleted when the server ends.
func (s *Server) Log() string { return filepath.Join(filepath.Dir(s.Kubeconfig()), "server.log") }

// Pid returns the process id of the control plane.
func (s *Server) Pid() int { return s.current().command.Process.Pid }

// Done returns a channel that is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.current().done }

// Stop shuts the server down cleanly and waits until it has ended. Closing its
// standard input is the signal. If the server has ended already, Stop returns
// how. If it doesn't end, Stop kills it and returns an error.
func (s *Server) Stop() error {
	p := s.current()
	_ = p.stdin.Close()
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopPatience):
	}
	_ = p.command.Process.Kill() // it may have ended just now
	<-p.done
	return fmt.Errorf("test cluster: not stopped after %s, and killed", stopPatience)
}

// Kill ends the server like a crash and waits until it has ended. It returns an
// error if the server had ended before.
func (s *Server) Kill() error {
	p := s.current()
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	<-p.done
	return nil
}

// current returns the latest run.
func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// run starts the program and waits until it prints the path of its kubeconfig,
// which means that it is usable. If that fails, the process is killed, and the
// error has the end of its messages.
func run(ctx context.Context, command *exec.Cmd) (*process, error) {
	p := &process{command: command, stderr: &tail{}, done: make(chan struct{})}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	// A fifth of its time would go to the garbage collector.
	command.Env = append([]string{"GOGC=200"}, os.Environ()...)
	first := &firstLine{line: make(chan string, 1)}
	command.Stdout, command.Stderr = first, p.stderr
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("test cluster: %w", err)
	}
	go func() {
		// Closing done publishes err to other goroutines.
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
	// The process may have ended already.
	_ = command.Process.Kill()
	<-p.done
	return nil, fmt.Errorf("test cluster: starting: %w\n%s", err, p.stderr)
}

// firstLine is a writer that sends the first line written to it to a channel and
// discards the rest. The channel must have room for the line. A line may arrive
// in several writes.
type firstLine struct {
	line chan string
	seen bytes.Buffer
	sent bool
}

// Write implements io.Writer. It never fails, as an error would end the copying
// of stdout.
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

// tail is a writer that keeps the end of the text that is written to it, 4 KiB.
// It is safe for concurrent use: the process writes while an error is formatted.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (t *tail) Write(data []byte) (int, error) {
	const keep = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	t.data = t.data[max(0, len(t.data)-keep):]
	return len(data), nil
}

// String returns the kept text, which may begin within a line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
