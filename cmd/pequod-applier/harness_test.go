package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
)

const namespace = "pequod-system"

// built is the directory of the programs as they are shipped.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pequod-applier")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-ldflags=-X github.com/pequod-io/pequod/internal/version.linked=v1.2.3-test", "-o", dir, ".", "../pequod").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := built(); err == nil {
		os.RemoveAll(dir) // what can't be removed is in the temporary directory
	}
	os.Exit(code)
}

// pequod runs the command line as the cluster's administrator, and gives what it
// prints if its exit code is as wanted.
func pequod(t *testing.T, c *harness.Cluster, want int, args ...string) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "pequod"), append(args, "--kubeconfig="+c.Kubeconfig)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Fatalf("pequod %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// install gives a cluster with config/applier, and access as the account that it
// installs.
func install(t *testing.T) (*harness.Cluster, *rest.Config) {
	t.Helper()
	c := harness.StartOwn(t)
	c.Apply(t, string(config.Applier))
	return c, c.ServiceAccount(t, namespace, "pequod-applier")
}

// process is a running applier.
type process struct {
	cmd             *exec.Cmd
	log             *log
	probes, metrics string
	done            chan error
}

// start runs the applier with the arguments of config/applier, on ports of its own.
func start(t *testing.T, c *harness.Cluster, as *rest.Config, args ...string) *process {
	t.Helper()
	p := prepare(t, c, as, args...)
	p.run(t)
	return p
}

// prepare is start without running the command.
func prepare(t *testing.T, c *harness.Cluster, as *rest.Config, args ...string) *process {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{log: &log{}, probes: freeAddress(t), metrics: freeAddress(t), done: make(chan error, 1)}
	p.cmd = exec.Command(filepath.Join(dir, name), append([]string{
		"--leader-elect", "--leader-election-namespace=" + namespace, "--kubeconfig=" + c.WriteKubeconfig(t, as),
		"--metrics-bind-address=" + p.metrics, "--health-probe-bind-address=" + p.probes,
	}, args...)...)
	p.cmd.Stderr = p.log
	return p
}

// run starts the command, and kills it when the test ends.
func (p *process) run(t *testing.T) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
		if t.Failed() {
			t.Logf("log of the applier:\n%s", p.log)
		}
	})
}

// stop asks the applier to end, and gives its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := <-p.done
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ready waits until /readyz says so.
func (p *process) ready(t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		select {
		case <-p.done:
			t.Fatalf("the applier has ended")
		default:
		}
		code, body, err := get(ctx, "http://"+p.probes+"/readyz", "")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
}

// get requests a URL without verifying the certificate.
func get(ctx context.Context, url, token string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := insecure.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// log is what the applier logs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *log) lines() []string { return strings.Split(strings.TrimSpace(l.String()), "\n") }
