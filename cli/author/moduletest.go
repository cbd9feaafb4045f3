package author

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/moduletest"
	"github.com/pequod-io/pequod/render"
)

// moduleTestOptions are the flags of module test. They can be combined freely:
// with --update and --coverage, the expectations are updated before the coverage
// is computed.
type moduleTestOptions struct {
	// ModuleFlags limit the loading of each module and the rendering of each case, and
	// have the registries of imported modules.
	platform.ModuleFlags
	platform.ConfineFlags
	// allowSecrets permits Secrets with literal data in the rendered objects.
	// Without it, such a Secret is a problem of the test case.
	allowSecrets bool
	// update rewrites the expectations, graph.yaml or error.txt, from the actual
	// output. All cases then count as passed.
	update bool
	// coverage adds the parts of each module that no test case reaches to the
	// report. Gaps don't change the exit code.
	coverage bool
	// output is the value of -o, one of moduletest.Formats.
	output string
}

// newModuleTestCommand returns the command "module test". Its arguments are
// directories of modules, so that is all that completion offers.
func newModuleTestCommand(env command.Env) *cobra.Command {
	o := &moduleTestOptions{}
	cmd := &cobra.Command{
		Use:   "test [DIR ...]",
		Short: "Run the test cases of modules",
		Long: `Run the test cases of the module in the working directory, or of the modules in the
given directories. A test case is a directory tests/NAME of the module. It contains
the instances in instance.yaml and either graph.yaml, the expected graphs, or
error.txt, the expected problems. The digest of the module is left out of graph.yaml,
and the position of a violated rule out of error.txt.

With --coverage, the command lists nodes, branches of if and values of enumerations
that no test case reaches, and conditions of if that are true in every test case.`,
		Example: `  pequod module test ./shop
  pequod module test ./shop --update
  pequod module test modules/* --coverage -o junit > cases.xml`,
		RunE: func(cmd *cobra.Command, dirs []string) error { return o.run(cmd.Context(), env, dirs) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	o.ModuleFlags.AddFlags(cmd)
	o.ConfineFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&o.allowSecrets, "allow-secrets", false, "allow Secrets with literal data")
	fl.BoolVar(&o.update, "update", false, "rewrite graph.yaml and error.txt of every test case")
	fl.BoolVar(&o.coverage, "coverage", false, "list the parts of the modules that no test case reaches")
	command.Choice(cmd, &o.output, "output", "o", "text", moduletest.Formats(), "output format: "+strings.Join(moduletest.Formats(), ", "))
	return cmd
}

// run runs the test cases of the modules in dirs, or in the working directory. The
// report goes to stdout and the summary to stderr, so that a report in a machine format
// is complete on its own. The exit code is 1 if a test case failed; gaps in coverage
// don't count.
func (o *moduleTestOptions) run(ctx context.Context, env command.Env, dirs []string) error {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	r, err := o.report(ctx, dirs)
	if err != nil {
		return o.fail(env, err)
	}
	r.Path = files.RepositoryPaths()
	if err := r.Write(env.Out, o.output); err != nil {
		return command.OutputError(err)
	}
	fmt.Fprintln(env.Err, r.Summary())
	if r.Failed() > 0 {
		return command.ExitError{Code: command.ExitNo}
	}
	return nil
}

// fail ends a run without results. As input.Checks.Fail does, it writes a complete
// report unless the format is text.
func (o *moduleTestOptions) fail(env command.Env, err error) error {
	if o.output == "text" || errors.Is(err, context.Canceled) {
		return err
	}
	r := &moduletest.Report{Path: files.RepositoryPaths()}
	exit := command.ExitError{}
	if !errors.As(err, &r.Problems) {
		r.Problems = problem.List{{Rule: problem.RuleUnchecked, Message: err.Error()}}
		exit.Causes = []error{err}
	}
	if err := r.Write(env.Out, o.output); err != nil {
		return command.OutputError(err)
	}
	exit.Code = command.ProblemsExitCode(r.Problems)
	return exit
}

// report runs the test cases, after all modules are loaded: a broken module stops
// the run before it prints any result. The steps are:
//
//   - Open every module under the limits. Opening evaluates the module.
//   - Run the cases of all modules in parallel.
//   - With --update, write the expectations of all cases.
//   - With --coverage, find the points of each module that its cases reach.
//
// The modules stay open until the report is complete, because updates and
// coverage read and write their files.
func (o *moduleTestOptions) report(ctx context.Context, dirs []string) (*moduletest.Report, error) {
	r := &moduletest.Report{}
	defer func() {
		for _, m := range r.Modules {
			_ = m.Close() // it was only read
		}
	}()
	if err := o.Prefetch(ctx, dirs); err != nil {
		return nil, err
	}
	var room confine.Room
	if o.update {
		room.Write = dirs
	}
	if err := o.Confine(ctx, room); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		m, err := render.Guard(ctx, o.Limits(), o.ModuleSubject(ctx, dir), func() (*moduletest.Module, error) { return moduletest.Open(ctx, o.Modules, dir) })
		if err != nil {
			return nil, err
		}
		r.Modules = append(r.Modules, m)
	}
	opts := moduletest.Options{Limits: o.Limits(), AllowSecrets: o.allowSecrets}
	var err error
	if r.Results, err = moduletest.Run(ctx, r.Modules, opts); err != nil {
		return nil, err
	}
	if o.update {
		for i := range r.Results {
			written, err := r.Results[i].Update()
			if err != nil {
				return nil, err
			}
			r.Updated = append(r.Updated, written...)
		}
	}
	if o.coverage {
		for _, m := range r.Modules {
			c, err := m.Coverage(ctx, r.Results, opts)
			if err != nil {
				return nil, err
			}
			r.Coverage = append(r.Coverage, c)
		}
	}
	return r, nil
}
