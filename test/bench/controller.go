package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// controller is a running pequod-applier. Its process ends with stop or kill.
type controller struct {
	cmd *exec.Cmd
	// metrics and probes are "host:port" on the loopback interface, and log is
	// the path of a file with stdout and stderr.
	metrics, probes string
	log             string
	done            chan struct{} // closed when the process has ended
}

// buildController builds the applier with the flags of a release, unless the plan
// names a program. The benchmark measures the shipped form: stripped and without
// cgo.
func (m *measurement) buildController(ctx context.Context) error {
	if m.plan.controller != "" {
		return nil
	}
	m.plan.controller = m.scratchFile("pequod-applier")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", m.plan.controller, "github.com/pequod-io/pequod/cmd/pequod-applier")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building pequod-applier: %w\n%s", err, out)
	}
	return nil
}

// withController runs an applier while do runs. The applier's requests go through
// proxy unless it is nil. An error of do comes before one of stopping the
// applier.
func (m *measurement) withController(ctx context.Context, proxy *faults.Proxy, do func(*controller) error) (err error) {
	c, err := m.startController(ctx, proxy)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := c.stop(); err == nil {
			err = stopErr
		}
	}()
	return do(c)
}

// startController starts the applier with the flags that it is installed with, and
// returns when it is the leader and ready. Its metrics need no authentication,
// because reviews of access would count as requests.
func (m *measurement) startController(ctx context.Context, proxy *faults.Proxy) (*controller, error) {
	config := m.applierConfig
	if proxy != nil {
		config = proxy.Config(config)
	}
	kubeconfig := m.scratchFile("applier.kubeconfig")
	if err := writeKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	c := &controller{done: make(chan struct{}), log: m.scratchFile("pequod-applier.log")}
	for _, address := range []*string{&c.metrics, &c.probes} {
		var err error
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	var err error
	if c.cmd, err = m.controllerCommand(c, kubeconfig); err != nil {
		return nil, err
	}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	// Wait runs once, here. Its end is the only sign of the process's end that
	// other functions use.
	go func() {
		_ = c.cmd.Wait() // ProcessState has the result
		close(c.done)
	}()
	if err := poll(ctx, func() (bool, error) { return c.isLeader(ctx) }); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// controllerCommand returns the shipped program or, for profiles, this program.
func (m *measurement) controllerCommand(c *controller, kubeconfig string) (*exec.Cmd, error) {
	if m.profiles == "" {
		return exec.Command(m.plan.controller,
			"--leader-elect", "--leader-election-namespace="+system, "--kubeconfig="+kubeconfig,
			"--metrics-secure=false", "--metrics-bind-address="+c.metrics, "--health-probe-bind-address="+c.probes), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m.profiled++
	return exec.Command(self, "-run", controllerContestant, "-kubeconfig", kubeconfig, "-metrics", c.metrics, "-probes", c.probes,
		"-cpuprofile", filepath.Join(m.profiles, fmt.Sprintf("controller-%d.prof", m.profiled))), nil
}

// isLeader reports whether the applier is the leader and ready. It returns an
// error with the log if the process has ended, and false while its endpoints do
// not answer yet.
func (c *controller) isLeader(ctx context.Context) (bool, error) {
	select {
	case <-c.done:
		return false, c.exitError()
	default:
	}
	series, err := c.scrape(ctx, "leader_election_master_status")
	if err != nil || series.sum("leader_election_master_status") == 0 {
		return false, nil // not serving yet, or not the leader yet
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.probes+"/readyz", nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, nil
	}
	return response.StatusCode == http.StatusOK, response.Body.Close()
}

// stop terminates the applier. It returns an error if the applier does not exit
// with 0 within a minute: a benchmark of an applier that fails is worth nothing.
func (c *controller) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.kill()
		return errors.New("pequod-applier did not exit within a minute of SIGTERM")
	}
	if !c.cmd.ProcessState.Success() {
		return c.exitError()
	}
	return nil
}

// exitError describes how the process ended, with its log.
func (c *controller) exitError() error {
	text, _ := os.ReadFile(c.log) // an empty log is shown if it cannot be read
	return fmt.Errorf("pequod-applier: %s\n%s", c.cmd.ProcessState, bytes.TrimSpace(text))
}

// kill ends the applier at once and waits until it has ended.
func (c *controller) kill() {
	_ = c.cmd.Process.Kill() // fails if the process has ended already
	<-c.done
}

// cpu returns the CPU time of the applier so far.
func (c *controller) cpu() time.Duration { return processCPU(c.cmd.Process.Pid) }

// scratchFile returns a path in the benchmark's temporary directory.
func (m *measurement) scratchFile(name string) string { return filepath.Join(m.scratch, name) }

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
