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

// controller is a running pequod-applier.
type controller struct {
	cmd             *exec.Cmd
	metrics, probes string // addresses
	log             string // a file
	done            chan struct{}
}

// buildController builds the applier as it is shipped.
func (m *measurement) buildController(ctx context.Context) error {
	if m.controller != "" {
		return nil
	}
	m.controller = filepath.Join(m.scratch, "pequod-applier")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", m.controller, "github.com/pequod-io/pequod/cmd/pequod-applier")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building pequod-applier: %w\n%s", err, out)
	}
	return nil
}

// startController starts the applier with the flags that it is installed with,
// and returns when it leads. Its requests go through the proxy, if there is one.
// Its metrics are there for everybody: asking the API server who may read them
// would be counted.
func (m *measurement) startController(ctx context.Context, proxy *faults.Proxy) (*controller, error) {
	as := m.as
	if proxy != nil {
		as = proxy.Config(as)
	}
	kubeconfig := filepath.Join(m.scratch, "applier.kubeconfig")
	if err := writeKubeconfig(kubeconfig, as); err != nil {
		return nil, err
	}
	c := &controller{done: make(chan struct{}), log: filepath.Join(m.scratch, "pequod-applier.log")}
	for _, address := range []*string{&c.metrics, &c.probes} {
		var err error
		if *address, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	command, err := m.controllerCommand(c, kubeconfig)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd = command
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // the state says how it ended
		close(c.done)
	}()
	if err := poll(ctx, func() (bool, error) { return c.leads(ctx) }); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// with runs an applier while something is done.
func (m *measurement) with(ctx context.Context, proxy *faults.Proxy, do func(*controller) error) (err error) {
	c, err := m.startController(ctx, proxy)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := c.stop(); err == nil {
			err = stopped
		}
	}()
	return do(c)
}

// controllerCommand is the program as it is shipped, or this one for a profile.
func (m *measurement) controllerCommand(c *controller, kubeconfig string) (*exec.Cmd, error) {
	if m.profiles == "" {
		return exec.Command(m.controller,
			"--leader-elect", "--leader-election-namespace="+system, "--kubeconfig="+kubeconfig,
			"--metrics-secure=false", "--metrics-bind-address="+c.metrics, "--health-probe-bind-address="+c.probes), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m.profiled++
	return exec.Command(self, "-run", byController, "-kubeconfig", kubeconfig, "-metrics", c.metrics, "-probes", c.probes,
		"-cpuprofile", filepath.Join(m.profiles, fmt.Sprintf("controller-%d.prof", m.profiled))), nil
}

// leads says whether the applier leads and is ready.
func (c *controller) leads(ctx context.Context) (bool, error) {
	select {
	case <-c.done:
		text, _ := os.ReadFile(c.log)
		return false, fmt.Errorf("pequod-applier: %s\n%s", c.cmd.ProcessState, text)
	default:
	}
	series, err := c.scrape(ctx, "leader_election_master_status")
	if err != nil || series.sum("leader_election_master_status") == 0 {
		return false, nil // it has hardly begun
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.probes+"/readyz", nil)
	if err != nil {
		return false, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, nil
	}
	return answer.StatusCode == http.StatusOK, answer.Body.Close()
}

// stop asks the applier to end, and says if it doesn't end well.
func (c *controller) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.kill()
		return errors.New("pequod-applier didn't end within a minute")
	}
	if !c.cmd.ProcessState.Success() {
		text, _ := os.ReadFile(c.log)
		return fmt.Errorf("pequod-applier: %s\n%s", c.cmd.ProcessState, bytes.TrimSpace(text))
	}
	return nil
}

func (c *controller) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
}

func (c *controller) cpu() time.Duration { return processCPU(c.cmd.Process.Pid) }

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
