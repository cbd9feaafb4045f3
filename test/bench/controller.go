package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/server"
)

// controller is a running pequod-applier.
type controller struct {
	*server.Program
	// metrics and probes are "host:port" on the loopback interface.
	metrics, probes string
}

// buildPrograms builds pequod and the applier with the flags of a release. The
// benchmark measures the shipped form: stripped and without cgo.
func (m *measurement) buildPrograms(ctx context.Context) error {
	const commands = "github.com/pequod-io/pequod/cmd/"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags=kustomize_disable_go_plugin_support", "-ldflags=-s -w", "-o", m.scratch, commands+"pequod", commands+"pequod-applier")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// withController runs an applier while do runs. The applier's requests go through
// proxy unless it is nil. If the applier ends by itself, as when a busy machine costs
// it the Lease, the context of do ends too; do would else wait forever. Its end is
// then the cause of the error of do, and comes before that.
func (m *measurement) withController(ctx context.Context, proxy *faults.Proxy, do func(context.Context, *controller) error) (err error) {
	c, err := m.startController(ctx, proxy)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(c.Stop(time.Minute), err) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := poll(ctx, func() (bool, error) { return m.isLeader(ctx, c) }); err != nil {
		return err
	}
	return do(ctx, c)
}

// startController starts the applier with the flags that it is installed with. Its
// metrics need no authentication, because reviews of access would count as
// requests.
func (m *measurement) startController(ctx context.Context, proxy *faults.Proxy) (*controller, error) {
	config := m.applierConfig
	if proxy != nil {
		config = proxy.Config(config)
	}
	kubeconfig := m.scratchFile("applier.kubeconfig")
	if err := server.WriteKubeconfig(kubeconfig, config, ""); err != nil {
		return nil, err
	}
	c := &controller{}
	for _, address := range []*string{&c.metrics, &c.probes} {
		var err error
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	cmd, err := m.controllerCommand(ctx, c, kubeconfig)
	if err != nil {
		return nil, err
	}
	c.Program, err = server.StartProgram(cmd, m.scratchFile("pequod-applier.log"))
	return c, err
}

// controllerCommand returns the shipped program or, for profiles, this program.
func (m *measurement) controllerCommand(ctx context.Context, c *controller, kubeconfig string) (*exec.Cmd, error) {
	if m.operator {
		return childCommand(context.WithoutCancel(ctx), job{
			Contestant: managerContestant, Kubeconfig: kubeconfig, Metrics: c.metrics, Probes: c.probes,
		})
	}
	if m.profiles == "" {
		return exec.Command(m.scratchFile("pequod-applier"),
			"--leader-elect", "--leader-election-namespace="+system, "--kubeconfig="+kubeconfig,
			"--metrics-secure=false", "--metrics-bind-address="+c.metrics, "--health-probe-bind-address="+c.probes), nil
	}
	m.profiled++
	// The end of ctx must not kill it before it has written its profiles.
	return childCommand(context.WithoutCancel(ctx), job{
		Contestant: controllerContestant, Kubeconfig: kubeconfig, Metrics: c.metrics, Probes: c.probes,
		Profile: filepath.Join(m.profiles, fmt.Sprintf("controller-%d.prof", m.profiled)),
	})
}

// isLeader reports whether the applier is the leader and ready. It returns an
// error with the log if the process has ended, and false while its endpoints do
// not answer yet. An applier that ended before has released the Lease, so any holder
// is this one.
func (m *measurement) isLeader(ctx context.Context, c *controller) (bool, error) {
	select {
	case <-c.Done():
		return false, fmt.Errorf("pequod-applier has ended\n%s", c.Log())
	default:
	}
	lease, err := m.client.CoordinationV1().Leases(system).Get(ctx, account, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return false, nil // not the leader yet
	}
	response, err := get(ctx, "http://"+c.probes+"/readyz")
	if err != nil {
		return false, nil // not serving yet, or not ready
	}
	return true, response.Body.Close()
}

// memory returns the memory that the controller uses, its heap as one of several
// garbage collections left it, so that it consists of live objects only. Reading
// metrics produces the garbage that makes the collector run. One collection is not
// enough: it may have begun before the first reading. The smallest heap counts,
// because a reading in progress is alive, too. The resident set is read first, because
// reading the metrics changes it.
func (c *controller) memory(ctx context.Context) (memory, error) {
	mem, first := processMemory(c.Pid()), -1.0
	mem.heap = math.Inf(1)
	err := poll(ctx, func() (bool, error) {
		live, system, cycles, err := c.heap(ctx)
		if err != nil {
			return false, err
		}
		mem.heap, mem.heapPeak = min(mem.heap, live), system
		if first < 0 {
			first = cycles
		}
		return cycles >= first+2, nil
	})
	return mem, err
}

// heap reads the live heap and the heap from the system, in bytes, and the number
// of garbage collections from the metrics of the controller. The query parameter
// "name[]" makes the endpoint compute only these.
func (c *controller) heap(ctx context.Context) (live, system, cycles float64, err error) {
	const liveName, systemName, cyclesName = "go_gc_heap_live_bytes", "go_memstats_heap_sys_bytes", "go_gc_cycles_total_gc_cycles_total"
	query := url.Values{"name[]": {liveName, systemName, cyclesName}}.Encode()
	response, err := get(ctx, "http://"+c.metrics+"/metrics?"+query)
	if err != nil {
		return 0, 0, 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, name := range []string{liveName, systemName, cyclesName} {
		if len(families[name].GetMetric()) != 1 {
			return 0, 0, 0, fmt.Errorf("pequod-applier has no metric %s", name)
		}
	}
	return families[liveName].Metric[0].GetGauge().GetValue(), families[systemName].Metric[0].GetGauge().GetValue(),
		families[cyclesName].Metric[0].GetCounter().GetValue(), nil
}

// get sends a request to an endpoint of the applier. Any status but 200 is an
// error. The caller closes the body.
func get(ctx context.Context, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		response.Body.Close()
		err = fmt.Errorf("%s: %s", address, response.Status)
	}
	return response, err
}

// freeAddress returns a loopback address with a port that was free a moment ago.
// The applier could lose it to another process, but then it exits and the round
// fails.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
