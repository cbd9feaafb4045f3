package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// plan is the configuration of a benchmark. The flags in main.go set its fields
// and give their defaults.
type plan struct {
	parts []string
	// rounds is the number of measured rounds of the part cli. One more round
	// warms the server up.
	rounds int
	// graphs are the graph counts, at least one; graphRounds is the number of
	// rounds for each of them.
	graphs      []int
	graphRounds int
	// idle is how long an applier at rest is observed.
	idle time.Duration
	// profiles is the directory for profiles; empty means that none are written.
	profiles string
}

// measurement runs a plan and collects its results. Runs never overlap, so it has
// no lock.
type measurement struct {
	plan
	*controlPlane        // nil between two control planes
	scratch       string // directory for kubeconfigs, logs and binaries
	profiled      int    // number of profiled processes, for file names
	operator      bool   // instances and the manager are measured, not graphs and the applier
	report        report
}

// sample has the costs of one process, and of the control plane while it ran. For
// a job that a controller executes, cpu includes and peakMiB is that of the
// controller; see [measurement.runWithController].
type sample struct {
	work      time.Duration // without the start of the process
	cpu       time.Duration // of the process
	serverCPU time.Duration // of the control plane
	peakMiB   float64       // resident set of the process at its largest
}

// pair has the samples of floor and applier from the same round. Only they may be
// compared with each other.
type pair struct{ floor, applier sample }

// runPair lets both contestants do the same. The order alternates, so that neither
// always runs on the warmer server: in even rounds the floor is first.
func runPair(round int, run func(contestant string) (sample, error)) (p pair, err error) {
	for turn := range 2 {
		if (round+turn)%2 == 0 {
			p.floor, err = run(floorContestant)
		} else {
			p.applier, err = run(applierContestant)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// run does a job in a process of its own, when the control plane is calm.
func (m *measurement) run(ctx context.Context, j job) (sample, error) {
	if err := m.waitUntilCalm(ctx); err != nil {
		return sample{}, err
	}
	return m.runBusy(ctx, j)
}

// runBusy does a job in a process of its own.
//
// The CPU time of the control plane is the difference of two readings around the
// process. It includes work that the server does in the background meanwhile.
func (m *measurement) runBusy(ctx context.Context, j job) (sample, error) {
	cmd, err := childCommand(ctx, j)
	if err != nil {
		return sample{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	serverBefore := m.serverCPU()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s in %s: %w\n%s", j.Contestant, j.Namespaces[0], err, stderr.String())
	}
	s := sample{serverCPU: m.serverCPU() - serverBefore, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	// Linux reports the maximum resident set in KiB; see getrusage(2).
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peakMiB = float64(usage.Maxrss) / 1024
	}
	work, err := strconv.ParseInt(strings.TrimSpace(stdout.String()), 10, 64)
	s.work = time.Duration(work)
	return s, err
}

// childCommand returns this program again, as the process of a job.
func childCommand(ctx context.Context, j job) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	return exec.CommandContext(ctx, self, "-run", string(text)), err
}

// scratchFile returns a path in the benchmark's temporary directory.
func (m *measurement) scratchFile(name string) string { return filepath.Join(m.scratch, name) }

// pause waits for a duration. It returns early, with an error, if ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// poll calls done every 50 ms until it returns true or an error. It has no
// timeout of its own; ctx ends it.
func poll(ctx context.Context, done func() (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) { return done() })
}
