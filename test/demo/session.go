package main

import (
	"context"
	"errors"
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
	programs   []*server.Program
	// stops end what was started; see stop.
	stops []func() error
}

// patience is how long a program may take to exit after it was asked to.
const patience = 10 * time.Second

// build compiles the control plane, and installs the programs in the session's
// bin directory.
func (s *session) build(ctx context.Context, programs []string) error {
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
	return server.Programs(ctx, s.bin, "-s -w", programs)
}

// write writes a file for commands.
func (s *session) write(name, text string) error {
	return os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600)
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
	return append(server.Environment(), "KUBECONFIG="+s.kubeconfig, "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"), "KUBECACHEDIR="+filepath.Join(s.dir, "cache", "kubectl"))
}

// start runs a program outside the cluster, as its Deployment does that was installed, with the token of
// its service account. It does not wait until the program is ready: what is there for it is
// executed as soon as it is. Metrics and probes are off, as nothing reads them
// and their ports could be in use.
func (s *session) start(ctx context.Context, name string, more ...string) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	deployed, err := server.ReadDeployed(ctx, config, "pequod-system", name)
	if err != nil {
		return err
	}
	account, err := server.ServiceAccount(ctx, config, deployed.Namespace, deployed.Account)
	if err != nil {
		return err
	}
	kubeconfig := strings.TrimPrefix(name, "pequod-") + ".kubeconfig"
	if err := server.WriteKubeconfig(filepath.Join(s.dir, kubeconfig), account, ""); err != nil {
		return err
	}
	command := deployed.Command(filepath.Join(s.bin, name), kubeconfig, s.dir,
		append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, more...)...)
	fmt.Fprintf(s.out, "$ %s %s &\n", name, strings.Join(command.Args[1:], " "))
	command.Dir = s.dir
	program, err := server.StartProgram(command, filepath.Join(s.dir, name+".log"))
	if err != nil {
		return err
	}
	s.programs = append(s.programs, program)
	s.stops = append(s.stops, func() error { return program.Stop(patience) })
	return nil
}

// stop ends what was started, the last first.
func (s *session) stop() error {
	var all []error
	for _, stop := range slices.Backward(s.stops) {
		all = append(all, stop())
	}
	return errors.Join(all...)
}

// logs returns the ends of the logs of the programs.
func (s *session) logs() string {
	var all strings.Builder
	for _, program := range s.programs {
		fmt.Fprintf(&all, "\nlog of %s:\n%s", program.Name(), program.Log())
	}
	return all.String()
}
