package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/room"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/gitfs"
)

const (
	// maxProcesses is the number of processes at once. Each uses all processors.
	maxProcesses = 2
	// maxOutput bounds what a process prints, in bytes. maxMessages bounds the part of it on
	// stderr that is passed on.
	maxOutput   = 8 << 20
	maxMessages = 16 << 10
)

// runner runs commands of pequod in processes.
type runner struct {
	// program is the file of pequod.
	program string
	// dir is the working directory, absolute and without links.
	dir     string
	network bool
	// cluster is the access to the cluster, or nil.
	cluster *clusterAccess
	timeout time.Duration
	// session ends when the client is gone; it is no parameter because the SDK doesn't end
	// the contexts of calls then.
	session context.Context
	// turns has a value for each running process.
	turns   chan struct{}
	running sync.WaitGroup
}

// outcome has the output of a process and its exit code.
type outcome struct {
	out, messages string
	code          int
}

// reach has what a process may read besides the directory of the server: the cluster, or revisions of the
// git repository.
type reach struct{ cluster, revisions bool }

// run runs one command line and returns its outcome. The process is killed when the call,
// the session or the time limit ends. Its temporary files are removed even then.
func (r *runner) run(ctx context.Context, may reach, args ...string) (outcome, error) {
	r.running.Add(1)
	defer r.running.Done()
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	defer context.AfterFunc(r.session, cancel)()
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return outcome{}, fmt.Errorf("other calls took longer than %v", r.timeout)
	}
	temporary, err := os.MkdirTemp("", "pequod-mcp-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(temporary) // the operating system removes what is left
	limits := room.Of(r.dir, r.network).And(confine.Room{Write: []string{temporary}, Run: []string{r.program}})
	if may.cluster {
		flags, err := r.cluster.flags(temporary)
		if err != nil {
			return outcome{}, err
		}
		args = withFlags(args, flags...)
		limits.Ports = append(limits.Ports, r.cluster.port)
	}
	if may.revisions {
		limits = limits.And(confine.Room{Read: room.Repository(ctx, r.dir), Run: gitfs.Programs()})
	}
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = r.dir
	cmd.Env = append(environment(), "TMPDIR="+temporary)
	out, messages := &limited{max: maxOutput, full: cancel}, &limited{max: maxOutput, full: cancel}
	cmd.Stdout, cmd.Stderr = out, messages
	cmd.WaitDelay = time.Second
	err = limits.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	switch {
	case out.over || messages.over:
		return outcome{}, fmt.Errorf("the answer is larger than %d MiB; ask for fewer files", maxOutput>>20)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return outcome{}, fmt.Errorf("no answer after %v", r.timeout)
	case err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0):
		return outcome{}, fmt.Errorf("pequod %s: %w", args[0], err)
	}
	said := messages.String()
	return outcome{out.String(), said[:min(len(said), maxMessages)], cmd.ProcessState.ExitCode()}, nil
}

// withFlags adds flags to a command line, before the arguments.
func withFlags(args []string, flags ...string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(slices.Clone(args), at, flags...)
}

// environment returns the variables of a process: those of the server, without the
// kubeconfig and colors.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "CLICOLOR_FORCE" || name == "KUBECONFIG" || name == "PEQUOD_KUBECONFIG" {
			continue
		}
		env = append(env, v)
	}
	for name, value := range room.GitEnvironment() {
		env = append(env, name+"="+value)
	}
	return append(env, "NO_COLOR=1", platform.ConfineVariable+"=false")
}

// limited is a buffer that calls full instead of growing beyond max bytes.
type limited struct {
	bytes.Buffer
	max  int
	full func()
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.max {
		l.over = true
		l.full()
		return 0, errors.New("too much output")
	}
	return l.Buffer.Write(p)
}
