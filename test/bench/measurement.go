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

// plan is the configuration of a benchmark; the flags in main.go document its
// fields.
type plan struct {
	parts       string
	rounds      int
	cases       string
	graphs      []int
	graphRounds int
	idle        time.Duration
	settle      time.Duration
	pequod      string
	controller  string
	profiles    string
}

// measurement runs a plan and collects its results.
type measurement struct {
	plan
	*controlPlane        // nil between two control planes
	scratch       string // directory for kubeconfigs, logs and binaries
	profiled      int    // number of profiled controllers, for file names
	report        report
}

// sample has the costs of one process, and of the control plane while it ran.
type sample struct {
	work      time.Duration // without the start of the process
	process   time.Duration // with it
	cpu       time.Duration // of the process
	serverCPU time.Duration // of the control plane
	peakMiB   float64       // resident set of the process at its largest
	heapMiB   float64       // heap that the Go runtime got from the system; 0 if unknown
}

// pair has the samples of floor and applier from the same round.
type pair struct{ floor, applier sample }

// restartControlPlane replaces the control plane by a new one, on which nothing
// has happened yet.
func (m *measurement) restartControlPlane(ctx context.Context) error {
	if err := m.stopControlPlane(); err != nil {
		return err
	}
	var err error
	m.controlPlane, err = startControlPlane(ctx)
	return err
}

func (m *measurement) stopControlPlane() error {
	if m.controlPlane == nil {
		return nil
	}
	c := m.controlPlane
	m.controlPlane = nil
	return c.stop()
}

// run does a job in a process of its own, after the pause that the plan asks for.
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
// command line if the plan names one.
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

// shippedCommand returns `pequod apply` or `pequod delete` for the graph of a job.
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
// neither always runs on the warmer server.
func order(round int) []string {
	if round%2 == 1 {
		return []string{applierContestant, floorContestant}
	}
	return []string{floorContestant, applierContestant}
}

// pause waits for a duration.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// poll calls done every 50 ms until it returns true or an error.
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
