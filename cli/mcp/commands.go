// Package mcp has the command mcp, a server of the Model Context Protocol: programs that
// write instances and modules, such as coding agents, get Pequod's answers as data.
//
//   - commands.go: the command, its flags and the server
//   - tools.go: the tools, and the command lines that they stand for
//   - result.go: the answer of a tool
//   - paths.go: the check of the paths that a client names
//   - revision.go: references to files of git revisions
//   - child.go: the process that answers one call
//   - cluster.go: the requests of these processes to the cluster
//
// A tool is a command of pequod that runs in a process of its own, so that a module which
// does not terminate, or takes all memory, ends this process and not the server. A client
// is not trusted: its arguments are values of flags and never flags, its paths must stay in
// the directory of the server, and the sizes of requests and answers are bounded. No tool
// writes.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/version"
)

// maxRequest bounds one message of a client, in bytes.
const maxRequest = 1 << 20

// options are the flags of mcp.
type options struct {
	// dir is the directory that tools read.
	dir string
	// network allows requests to registries and git servers, and cluster reading the
	// cluster of the connection flags.
	network, cluster bool
	kube.ConnectionFlags
	// timeout limits one call.
	timeout time.Duration
}

// Commands returns the command "mcp".
func Commands(env command.Env) []*cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve validate, render, review and explain to coding agents",
		Long: `Serve the Model Context Protocol on stdin and stdout, for coding agents and other
programs. The tools are validate, render, graph, review, diff, impact, module_docs and
explain. They answer as the commands of these names do, with problems as data: file,
line, field, message and hint.

All tools only read, and only files in --dir and below it. A call that names a revision
of git, and review, also read the repository of --dir. On Linux, the kernel enforces this
with Landlock; a message on stderr tells if it can't. Modules of registries and git servers come from
pequod.vendor and the cache, unless --allow-network is given. No kubeconfig is read,
unless --allow-cluster is given: diff can then compare with the cluster, and there is a
tool status. Their processes get no credentials: the server sends their requests, and only
those that read, dry runs included.

docs/SKILL.md explains the tools to agents.`,
		Example: `  # In the configuration of an agent
  {"mcpServers": {"pequod": {"command": "pequod", "args": ["mcp"]}}}

  pequod mcp --dir apps --allow-network`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), env) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.dir, "dir", ".", "directory that the tools may read")
	fl.BoolVar(&o.network, "allow-network", false, "allow requests to registries and git servers")
	fl.BoolVar(&o.cluster, "allow-cluster", false, "allow diff and status to read the cluster of the kubeconfig")
	o.ConnectionFlags.AddFlags(cmd)
	fl.DurationVar(&o.timeout, "timeout", time.Minute, "time limit of one call")
	command.Must(cmd.MarkFlagDirname("dir"))
	return []*cobra.Command{cmd}
}

// run serves one client until it closes stdin. It returns after all processes have ended.
func (o *options) run(ctx context.Context, env command.Env) error {
	if o.timeout <= 0 {
		return errors.New("--timeout must be positive")
	}
	r, err := o.newRunner()
	if err != nil {
		return err
	}
	if missing := confine.Missing(); missing != "" {
		fmt.Fprintln(env.Err, "pequod: the processes that answer calls can't be limited in "+missing)
	}
	ctx, cancel := context.WithCancel(ctx)
	r.session = ctx
	defer r.running.Wait()
	defer cancel()
	if o.cluster {
		if r.cluster, err = serveCluster(ctx, &o.ConnectionFlags); err != nil {
			return err
		}
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "pequod", Title: "Pequod", Version: version.Program()}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{},
	})
	o.addTools(server, r)
	err = server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(env.In), Writer: writer{env.Out}, MaxLineLength: maxRequest})
	if errors.Is(err, io.EOF) {
		return nil // the client is gone
	}
	return err
}

// newRunner returns the runner of the processes in the directory of the server.
func (o *options) newRunner() (*runner, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, command.FileError(err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", o.dir)
	}
	return &runner{program: program, dir: dir, network: o.network, timeout: o.timeout, turns: make(chan struct{}, maxProcesses)}, nil
}

// writer is stdout, which stays open until the process ends.
type writer struct{ io.Writer }

func (writer) Close() error { return nil }
