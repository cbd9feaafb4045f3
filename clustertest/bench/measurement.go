package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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

// measurement measures on one control plane.
type measurement struct {
	plan
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	server     int    // the process id of the control plane
	scratch    string // a directory
	namespaces int
	profiled   int
	as         *rest.Config // the access of pequod-applier
	rows       []row
	results    map[what][]pair
	requests   map[what]map[string]int
	figures    []figure
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

func newMeasurement(kubeconfig, scratch string, server int, p plan) (*measurement, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	return &measurement{
		plan: p, kubeconfig: kubeconfig, config: config, client: client, server: server, scratch: scratch,
		results: map[what][]pair{}, requests: map[what]map[string]int{},
	}, err
}

// parts are what can be measured, in this order.
var parts = []string{"cli", "graphs", "idle", "reconciles", "reactions"}

// all measures part by part, and prints what it has, even if it doesn't get to
// the end.
func (m *measurement) all(ctx context.Context) error {
	defer m.print(os.Stdout)
	asked := map[string]bool{}
	for _, part := range strings.Split(m.parts, ",") {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("unknown part %q: there are %s", part, strings.Join(parts, ", "))
		}
		asked[part] = true
	}
	if asked["cli"] {
		if err := m.cli(ctx); err != nil {
			return err
		}
	}
	delete(asked, "cli")
	if len(asked) > 0 {
		return m.inCluster(ctx, asked)
	}
	return nil
}

// cli warms up, measures in rounds, and counts.
func (m *measurement) cli(ctx context.Context) error {
	for _, name := range strings.Split(m.cases, ",") {
		if _, ok := loads[name]; !ok {
			return fmt.Errorf("unknown case %q", name)
		}
		for round := range m.rounds + 1 {
			pairs, err := m.round(ctx, name, round)
			if err != nil {
				return err
			}
			for verb, p := range pairs {
				if w := (what{name, verb}); round > 0 { // the first warms the server up
					m.results[w] = append(m.results[w], p)
				}
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", name, round, m.rounds)
		}
		if err := m.count(ctx, name); err != nil {
			return err
		}
		for _, verb := range []string{create, again, remove} {
			m.rows = append(m.rows, row{what{name, verb}, loads[name].aims[verb], loads[name].count, "object"})
		}
	}
	return nil
}

// inCluster measures what concerns pequod-applier.
func (m *measurement) inCluster(ctx context.Context, asked map[string]bool) error {
	if err := m.buildController(ctx); err != nil {
		return err
	}
	as, err := m.install(ctx)
	if err != nil {
		return err
	}
	m.as = as
	if asked["graphs"] {
		if err := m.manyGraphs(ctx); err != nil {
			return err
		}
	}
	if asked["idle"] || asked["reconciles"] || asked["reactions"] {
		return m.standing(ctx, asked)
	}
	return nil
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

// namespace makes a namespace in which Pods can be made.
func (m *measurement) namespace(ctx context.Context, who string) (string, error) {
	m.namespaces++
	name := fmt.Sprintf("%s-%d", who, m.namespaces)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := m.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	for {
		_, err := m.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return name, nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
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
	start, before := time.Now(), processCPU(m.server)
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w\n%s", j, err, stderr.String())
	}
	s := sample{
		process: time.Since(start), server: processCPU(m.server) - before,
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
