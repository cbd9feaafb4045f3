package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// plan is the configuration of a benchmark. The flags in main.go set its fields
// and give their defaults.
type plan struct {
	// parts and cases are comma-separated and not yet checked; measure and
	// measureCLI reject unknown names.
	parts string
	// rounds is the number of measured rounds of the part cli. One more round
	// warms the server up.
	rounds int
	cases  string
	// graphs are the graph counts, at least one; graphRounds is the number of
	// rounds for each of them.
	graphs      []int
	graphRounds int
	// idle is how long an applier at rest is observed, and settle the pause
	// before every run.
	idle   time.Duration
	settle time.Duration
	// pequod and controller are paths of programs that replace the library and
	// the program built from this checkout. Empty means no replacement.
	pequod string
	// controller is set by buildController if the flag does not set it.
	controller string
	// profiles is the directory for profiles; empty means that none are written.
	profiles string
}

// measurement runs a plan and collects its results. Runs never overlap, so it has
// no lock.
type measurement struct {
	plan
	*controlPlane        // nil between two control planes
	scratch       string // directory for kubeconfigs, logs and binaries
	profiled      int    // number of profiled controllers, for file names
	report        report
}

// sample has the costs of one process, and of the control plane while it ran. For
// a job that a controller executes, cpu, peakMiB and heapMiB include or are those
// of the controller; see [measurement.runWithController].
type sample struct {
	work      time.Duration // without the start of the process
	process   time.Duration // with it
	cpu       time.Duration // of the process
	serverCPU time.Duration // of the control plane
	peakMiB   float64       // resident set of the process at its largest
	heapMiB   float64       // heap that the Go runtime got from the system; 0 if unknown
}

// pair has the samples of floor and applier from the same round. Only they may be
// compared with each other.
type pair struct{ floor, applier sample }

// restartControlPlane replaces the control plane by a new one, on which nothing
// has happened yet. An empty one makes rounds comparable: etcd and the caches of
// the API server grow with every object that has ever existed.
func (m *measurement) restartControlPlane(ctx context.Context) error {
	if err := m.stopControlPlane(); err != nil {
		return err
	}
	var err error
	m.controlPlane, err = startControlPlane(ctx)
	return err
}

// stopControlPlane stops the control plane, if one runs. Calling it again does
// nothing.
func (m *measurement) stopControlPlane() error {
	if m.controlPlane == nil {
		return nil
	}
	c := m.controlPlane
	m.controlPlane = nil
	return c.stop()
}

// run does a job in a process of its own, after the pause that the plan asks for.
//
// The CPU time of the control plane is the difference of two readings around the
// process. It includes work that the server does in the background meanwhile.
func (m *measurement) run(ctx context.Context, j job, round int) (sample, error) {
	if err := pause(ctx, m.settle); err != nil {
		return sample{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd, err := m.command(ctx, j, round)
	if err != nil {
		return sample{}, err
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start, serverBefore := time.Now(), m.serverCPU()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s", j, err, stderr.String())
	}
	s := sample{
		process: time.Since(start), serverCPU: m.serverCPU() - serverBefore,
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	// Linux reports the maximum resident set in KiB; see getrusage(2).
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peakMiB = float64(usage.Maxrss) / 1024
	}
	if m.pequod != "" && !j.forController() {
		s.work = s.process // a shipped program does not report how long its start took
		return s, nil
	}
	var r runResult
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return sample{}, fmt.Errorf("%s: %w", j, err)
	}
	s.work = r.Work
	return s, nil
}

// command returns the process of a job: this program again, or the shipped
// command line if the plan names one. The floor, and jobs for a controller,
// always use this program. The round is part of the name of a profile.
func (m *measurement) command(ctx context.Context, j job, round int) (*exec.Cmd, error) {
	if m.pequod != "" && j.contestant == applierContestant && !j.forController() {
		return m.shippedCommand(ctx, j)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-run", j.contestant, "-case", j.workload, "-count", fmt.Sprint(j.graphs),
		"-verb", j.verb, "-namespace", j.namespace, "-kubeconfig", j.kubeconfig}
	if m.profiles != "" && j.contestant == applierContestant && !j.forController() {
		args = append(args, "-cpuprofile", filepath.Join(m.profiles, fmt.Sprintf("%s-%s-%d.prof", j.workload, j.verb, round)))
	}
	return exec.CommandContext(ctx, self, args...), nil
}

// shippedCommand returns `pequod apply` or `pequod delete` for the graph of a
// job. It writes the graph to a file first, so that rendering is not measured.
func (m *measurement) shippedCommand(ctx context.Context, j job) (*exec.Cmd, error) {
	rg, err := workloads[j.workload].graph(j.namespace)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(rg)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.scratch, j.namespace+".json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	verb := "apply"
	if j.verb == remove {
		verb = "delete"
	}
	return exec.CommandContext(ctx, m.pequod, verb, "-f", file, "--kubeconfig", j.kubeconfig, "--timeout", "5m"), nil
}

// order returns the contestants in the order of a round. It alternates, so that
// neither always runs on the warmer server: in even rounds the floor is first.
func order(round int) []string {
	if round%2 == 1 {
		return []string{applierContestant, floorContestant}
	}
	return []string{floorContestant, applierContestant}
}

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
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
