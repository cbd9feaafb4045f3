// Package chaos disturbs a program in a cluster, pequod-applier or pequod-manager, while the
// desired state changes: it kills the program, stops the leader of several replicas, and takes
// the API server away. Whatever happens, the cluster must in the end be what is desired.
//
// [Subject.Killed], [Subject.Leaders] and [Subject.Outage] are the entry points. The package
// knows neither the desired state nor how to check it: [Changes] does.
package chaos

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// Changes changes the desired state at random, with a connection of its own.
type Changes interface {
	// Step makes one change.
	Step()
	// Settled waits until the cluster reports the desired state, and fails the test unless the
	// report is true.
	Settled()
	// Drain removes everything and waits until nothing is left.
	Drain()
	// Counts returns the number of changes of each sort.
	Counts() map[string]int
}

// Subject is a program and what it has to do.
type Subject struct {
	Program process.Program
	Cluster *harness.Cluster
	// Account is the access of the program.
	Account *rest.Config
	Changes Changes
	Seed    uint64
	// Args are arguments of every process.
	Args []string
	// Looked returns an error until a process has looked at everything, after a start at which
	// nothing was to be done. If it is nil, the writes after such a start are not checked.
	Looked func(context.Context, *process.Process) error
}

// Patience bounds how long the desired state may take. If a fifth of all requests fail, a graph's deletion, which begins
// with six reads, fails ten times in a row in one of twenty cases, with pauses of up to a minute. Kubernetes' garbage
// collector pauses for minutes if kinds come and go while it lists them.
const Patience = 10 * time.Minute

// Soaks reports whether the tests run for long, in make soak.
func Soaks() bool { return os.Getenv("PEQUOD_SOAK") != "" }

// Times returns how often to repeat something: PEQUOD_SOAK divided by share, or otherwise if
// PEQUOD_SOAK is not set.
func Times(share, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		return max(n/share, otherwise)
	}
	return otherwise
}

// start starts a process that reaches the API server through proxy.
func (s Subject) start(t *testing.T, proxy *faults.Proxy, args ...string) *process.Process {
	t.Helper()
	return s.Program.Start(t, s.Cluster, proxy.Config(s.Account), append(slices.Clone(s.Args), args...)...)
}

// The exit codes of a program that was asked to end, and of one that can't continue.
const (
	exitDone   = 0
	exitFailed = 2
)

// writes returns the requests of a replica that does the leader's work.
func writes(p *faults.Proxy) []faults.Request {
	return slices.DeleteFunc(p.Requests(), func(r faults.Request) bool {
		return !r.Write() || strings.HasPrefix(r.Resource, "leases.") || strings.HasPrefix(r.Resource, "events")
	})
}

// Kill ends a process as a crash does. It fails the test if the process has ended before.
func Kill(t *testing.T, p *process.Process) {
	t.Helper()
	_ = p.Cmd.Process.Kill() // the state of the process shows whether it had ended
	<-p.Done
	if status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("the program ended by itself: %s", p.Cmd.ProcessState)
	}
}

// lost waits until a process has ended because it isn't the leader any more.
func lost(t *testing.T, p *process.Process) {
	t.Helper()
	select {
	case <-p.Done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the program can't renew the lease, and goes on")
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(p.Log.String(), `"error":"leader election lost"`) {
		t.Errorf("when it couldn't renew the lease, the program ended with exit code %d", code)
	}
}
