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

// plan says what to measure.
type plan struct {
	parts       string
	rounds      int
	cases       string
	graphs      []int
	graphRounds int
	idle        time.Duration
	samples     int
	settle      time.Duration
	pequod      string
	controller  string
	profiles    string
}

// measurement is what was measured, and what on.
type measurement struct {
	plan
	*controlPlane
	scratch  string // a directory
	profiled int
	rows     []row
	results  map[what][]pair
	requests map[what]map[string]int
	figures  []figure
}

// what is measured in pairs.
type what struct{ load, verb string }

// pair is what floor and applier took in the same round.
type pair struct{ floor, applier sample }

// sample is what one process took, and what the control plane did meanwhile.
type sample struct {
	work, process, cpu time.Duration
	server             time.Duration // of CPU
	peakMiB, heapMiB   float64
}

// round lets floor and applier go through a load, in turn.
func (m *measurement) round(ctx context.Context, name string, round int) (map[string]pair, error) {
	order := []string{byFloor, byApplier}
	namespace := map[string]string{}
	for _, who := range order {
		var err error
		if namespace[who], err = m.namespace(ctx, who); err != nil {
			return nil, err
		}
	}
	if round%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	pairs := map[string]pair{}
	for _, verb := range []string{create, again, remove} {
		var p pair
		for _, who := range order {
			j := job{who: who, load: name, verb: verb, namespace: namespace[who], kubeconfig: m.kubeconfig}
			s, err := m.run(ctx, j, round)
			if err != nil {
				return nil, err
			}
			if who == byFloor {
				p.floor = s
			} else {
				p.applier = s
			}
		}
		pairs[verb] = p
	}
	return pairs, nil
}

// run does a job in a process of its own, after a rest.
func (m *measurement) run(ctx context.Context, j job, round int) (sample, error) {
	select {
	case <-ctx.Done():
		return sample{}, context.Cause(ctx)
	case <-time.After(m.settle):
	}
	var stdout, stderr bytes.Buffer
	cmd, err := m.command(ctx, j, round)
	if err != nil {
		return sample{}, err
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start, before := time.Now(), m.cpu()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s", j, err, stderr.String())
	}
	s := sample{
		process: time.Since(start), server: m.cpu() - before,
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peakMiB = float64(usage.Maxrss) / 1024
	}
	if m.pequod != "" && !j.many() {
		s.work = s.process // the program doesn't say what its start took
		return s, nil
	}
	var t took
	if err := json.Unmarshal(stdout.Bytes(), &t); err != nil {
		return sample{}, fmt.Errorf("%s: %w", j, err)
	}
	s.work = t.Work
	return s, nil
}

// command is this program again, or the one that is to be measured.
func (m *measurement) command(ctx context.Context, j job, round int) (*exec.Cmd, error) {
	if m.pequod != "" && j.who == byApplier && !j.many() {
		return m.shipped(ctx, j)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-run", j.who, "-case", j.load, "-count", fmt.Sprint(j.graphs), "-verb", j.verb, "-namespace", j.namespace, "-kubeconfig", j.kubeconfig}
	if m.profiles != "" && j.who == byApplier && !j.many() {
		args = append(args, "-cpuprofile", filepath.Join(m.profiles, fmt.Sprintf("%s-%s-%d.prof", j.load, j.verb, round)))
	}
	return exec.CommandContext(ctx, self, args...), nil
}
