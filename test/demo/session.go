package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/server"
)

// session runs commands in a temporary directory, with the compiled programs
// first in PATH.
type session struct {
	// dir is the working directory of all commands, and bin the directory of the
	// programs in it.
	dir, bin string
	// kubeconfig is the path of the administrator's, empty until the control
	// plane runs.
	kubeconfig string
	out, err   io.Writer
}

// patience is how long a program may take to exit after it was asked to.
const patience = 10 * time.Second

// build compiles the control plane, and installs the programs in the session's
// bin directory.
func (s *session) build(ctx context.Context) error {
	s.say("Everything is compiled from its sources, which takes minutes the first time and seconds later.")
	if err := os.Mkdir(s.bin, 0o700); err != nil {
		return err
	}
	// The control plane comes first: it is the largest, and kubectl shares its
	// packages.
	if _, err := server.Build(ctx, s.err); err != nil {
		return err
	}
	kubectl, err := server.Kubectl(ctx, s.err)
	if err != nil {
		return err
	}
	if err := os.Symlink(kubectl, filepath.Join(s.bin, "kubectl")); err != nil {
		return err
	}
	return server.Programs(ctx, s.bin, "-s -w", []string{"pequod", "pequod-applier"})
}

// command prints a command and runs it. When ctx is done, the shell gets an
// interrupt and has some time to end, before it is killed.
func (s *session) command(ctx context.Context, text string) error {
	fmt.Fprintf(s.out, "$ %s\n", text)
	c := exec.CommandContext(ctx, "sh", "-c", text)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = patience
	c.Dir, c.Stdout, c.Stderr, c.Env = s.dir, s.out, s.err, s.environment()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// environment returns the environment of the process without variables that point
// to other clusters or configuration. Caches are in the session's directory, so
// that nothing of the user's is read or changed.
func (s *session) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PEQUOD_") || strings.HasPrefix(v, "KUBECONFIG=")
	})
	return append(env, "KUBECONFIG="+s.kubeconfig, "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"), "KUBECACHEDIR="+filepath.Join(s.dir, "cache", "kubectl"))
}

// startApplier runs the applier outside the cluster, as the service account that
// was installed. It does not wait until the applier is ready: the graph is
// executed as soon as it is. Metrics and probes are off, as nothing reads them
// and their ports could be in use.
func (s *session) startApplier(ctx context.Context) (*server.Applier, error) {
	s.say("No container runs in this cluster, so the applier runs beside it, as that account.")
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	config, err = server.ServiceAccount(ctx, config, "pequod-system", "pequod-applier")
	if err != nil {
		return nil, err
	}
	const kubeconfig = "applier.kubeconfig"
	if err := server.WriteKubeconfig(filepath.Join(s.dir, kubeconfig), config, ""); err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect", "--leader-election-namespace=pequod-system",
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}
	fmt.Fprintf(s.out, "$ pequod-applier %s &\n", strings.Join(args, " "))
	command := exec.Command(filepath.Join(s.bin, "pequod-applier"), args...)
	command.Dir, command.Env = s.dir, s.environment()
	return server.StartApplier(command, filepath.Join(s.dir, "applier.log"))
}
