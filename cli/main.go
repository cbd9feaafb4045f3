// Package cli is the roof of the pequod command. It has the command tree, the
// commands version and config, and the printing of errors. [Main] is its entry point.
//
// The commands live in rooms, one for each task of a user:
//
//   - author: create, vet and test modules; generate and check CRDs
//   - distribute: publish, list and fetch modules
//   - review: render, validate, graph, diff
//   - kinds: explain, schema
//   - mcp: mcp, a server for coding agents
//   - run: apply, delete, status, adopt
//   - ui: ui, a local page about the graphs of a cluster
//   - install: install, uninstall, rbac generate
//   - pipeline: comment, fn
//
// The rooms share smaller packages below them and never import each other. These
// read the input:
//
//   - settings: defaults of flags from the environment and configuration files
//   - files: bounded reading of files and of git revisions
//   - platform: the flags that choose platforms, and their loading
//   - input: instances and graphs from files, the rendering of them
//   - impact: the effect of another version of modules on instances
//
// These work with a cluster:
//
//   - kube: the flags that choose a cluster, and the connection to it
//   - execute: runs and plans of several graphs at once
//   - progress: displays of runs
//   - statusview: displays of states
//
// These print other results:
//
//   - output, outdir: objects on stdout or in a directory
//   - report: problems as text or for continuous integration systems
//   - comments: comments on pull requests of code hosts
//   - objectdiff: differences of objects
//   - graphview: drawings of graphs
//
// At the bottom are command (streams, exit codes, helpers for errors and flags),
// style (colors and tables), and earlygc (tuning of the garbage collector).
//
// A command parses flags, calls the packages that do the work, and prints the
// result. Only Main reads the process's arguments, prints errors and picks the
// exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
)

// Main runs the command line of the process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// client-go logs broken connections to stderr. The commands report them as errors.
	klog.SetLogger(logr.Discard())
	// The first signal cancels ctx and restores the default handling of
	// signals, so that the second one ends the process.
	context.AfterFunc(ctx, stop)
	// Without this, writing to a closed pipe kills the process; with it the
	// write fails, and the error is reported like any other.
	signal.Ignore(syscall.SIGPIPE)
	env := command.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.LookupEnv}
	return execute(ctx, env, os.Args[0], os.Args[1:])
}

// execute runs one command line of the program in a file, prints its error and returns its
// exit code. The rules for an error, in this order:
//
//   - An interrupt prints one line and is ExitUnknown.
//   - An ExitError has its own code, and prints only its causes.
//   - Problems are printed one per line; their severities pick the code.
//   - Every other error is one line and ExitUnknown.
func execute(ctx context.Context, env command.Env, file string, args []string) int {
	cmd := newRootCommand(env)
	if name := displayName(file); name != "" {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return command.ExitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(env.Err, "pequod: interrupted")
		return command.ExitUnknown
	}
	var exit command.ExitError
	if errors.As(err, &exit) {
		for _, cause := range exit.Causes {
			printError(env.Err, cause)
		}
		return exit.Code
	}
	printError(env.Err, err)
	if confine.Entered() && strings.Contains(err.Error(), "permission denied") {
		fmt.Fprintln(env.Err, "pequod: this process is confined: it reads the repository and the named files only, without network, and starts no programs; --confine=false lifts that")
	}
	var problems problem.List
	if errors.As(err, &problems) {
		return command.ProblemsExitCode(problems)
	}
	return command.ExitUnknown
}

// printError writes an error: a line for each problem in it, or one line with
// the name of the program if it holds no problems.
func printError(w io.Writer, err error) {
	var problems problem.List
	if errors.As(err, &problems) {
		fmt.Fprintln(w, problems.Error())
		return
	}
	fmt.Fprintln(w, "pequod: "+strings.ReplaceAll(err.Error(), "\n", " "))
}
