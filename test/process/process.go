// Package process runs our programs as they are installed: the shipped manifests are applied as they
// are, and a build with the flags of a release runs with the arguments and the environment of its
// Deployment, and with the token of the Deployment's service account and nothing else. Each program
// has a control plane of its own.
//
// [Program.Install] and [Program.Start] are the entry points.
package process

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/server"
)

// Namespace is where the programs are installed.
const Namespace = "pequod-system"

// Program is a program in a directory of cmd.
type Program struct {
	// Name is the name of the directory.
	Name string
	// Account is its service account, and also the name of its Deployment.
	Account string
	// Manifests are installed before it starts.
	Manifests []byte
	// Cache is the directory of its volumes. If it is empty, each process has its own, like a new
	// Pod; processes that share it are like containers of one Pod.
	Cache string

	path string // of the executable file; "" means the build of the checkout
}

// Pequod runs the command line as the cluster's administrator, and returns its output
// if its exit code is as wanted.
func Pequod(t *testing.T, c *harness.Cluster, want int, args ...string) string {
	t.Helper()
	return PequodIn(t, t.TempDir(), want, append(args, "--kubeconfig="+c.Kubeconfig)...)
}

// PequodIn is [Pequod] in a directory, for commands that need no cluster.
func PequodIn(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(programs, "pequod"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PEQUOD_CACHE_DIR="+filepath.Join(programs, "cache"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Fatalf("pequod %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Install returns a cluster in which the program is installed, and access as its account.
func (p Program) Install(t *testing.T) (*harness.Cluster, *rest.Config) {
	t.Helper()
	c := harness.StartOwn(t)
	c.Apply(t, string(p.Manifests))
	return c, c.ServiceAccount(t, Namespace, p.Account)
}

// Borrow is like Install, with a cluster that another test has used before. Whatever the program
// reconciles and runs in it was removed.
func (p Program) Borrow(t *testing.T) (*harness.Cluster, *rest.Config) {
	t.Helper()
	c := harness.Borrow(t, tidy)
	c.Apply(t, string(p.Manifests))
	return c, c.ServiceAccount(t, Namespace, p.Account)
}

// Process is a running program.
type Process struct {
	Cmd *exec.Cmd
	Log *Log
	// Probes and Metrics are the addresses of the endpoints.
	Probes, Metrics string
	// Done is closed when it has ended.
	Done chan error
}

// Start runs the program as its Deployment does, with further arguments, on ports of its own.
func (program Program) Start(t *testing.T, c *harness.Cluster, as *rest.Config, args ...string) *Process {
	t.Helper()
	p := program.Prepare(t, c, as, args...)
	p.Run(t)
	return p
}

// Prepare is Start without running the command.
func (program Program) Prepare(t *testing.T, c *harness.Cluster, as *rest.Config, args ...string) *Process {
	t.Helper()
	path := program.path
	if path == "" {
		dir, err := built()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, program.Name)
	}
	deployed, err := server.ReadDeployed(t.Context(), c.Config, Namespace, program.Account)
	if err != nil {
		t.Fatal(err)
	}
	if deployed.Account != program.Account {
		t.Fatalf("the Deployment runs as %s", deployed.Account)
	}
	p := &Process{Log: &Log{}, Probes: FreeAddress(t), Metrics: FreeAddress(t), Done: make(chan error, 1)}
	p.Cmd = deployed.Command(path, c.WriteKubeconfig(t, lagging(t, as)), cmp.Or(program.Cache, t.TempDir()),
		append([]string{"--metrics-bind-address=" + p.Metrics, "--health-probe-bind-address=" + p.Probes}, args...)...)
	p.Cmd.Stderr = p.Log
	return p
}

// Run starts the command, and kills it when the test ends.
func (p *Process) Run(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.Done <- p.Cmd.Wait(); close(p.Done) }()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill() // it may have ended
		<-p.Done
		if t.Failed() {
			lines := p.Log.Lines()
			t.Logf("%s %s; the end of its log, and all of it:\n%s\n\n%s", filepath.Base(p.Cmd.Path), p.Cmd.ProcessState,
				strings.Join(lines[max(0, len(lines)-8):], "\n"), p.Log)
		}
	})
}

// stopPatience bounds how long a program may take to end on a busy machine.
const stopPatience = 2 * time.Minute

// Stop asks the program to end, and returns its exit code. If the program does not end, its log shows
// where it hangs.
func (p *Process) Stop(t *testing.T) int {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var err error
	select {
	case err = <-p.Done:
	case <-time.After(stopPatience):
		_ = p.Cmd.Process.Signal(syscall.SIGQUIT) // it may end just now
		select {
		case <-p.Done:
		case <-time.After(10 * time.Second):
		}
		t.Fatalf("the program has not ended after %s", stopPatience)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Ready waits until /readyz says so.
func (p *Process) Ready(t *testing.T) {
	t.Helper()
	harness.Eventually(t, 3*time.Minute, func(ctx context.Context) error {
		select {
		case <-p.Done:
			t.Fatalf("the program has ended")
		default:
		}
		code, body, err := Get(ctx, "http://"+p.Probes+"/readyz", "")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		return err
	})
}

var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// Get requests a URL without verifying the certificate.
func Get(ctx context.Context, url, token string) (int, string, error) {
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

// FreeAddress returns an address that nothing listens on. Its port is given to nobody else until the test
// ends, so a program that starts later can listen at it.
func FreeAddress(t *testing.T) string {
	t.Helper()
	port, address, err := faults.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.Close() }) // it has no data
	return address
}

// Log is what the program logs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the text so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines returns the lines so far.
func (l *Log) Lines() []string { return strings.Split(strings.TrimSpace(l.String()), "\n") }
