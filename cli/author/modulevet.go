package author

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// moduleVetOptions are the flags of module vet. Without -f and without test
// cases, the checks are static.
type moduleVetOptions struct {
	// RenderFlags are the platforms of -p, to which run adds the directories of
	// the arguments, the samples of -f, which are optional, and --policy.
	input.RenderFlags
	// SchemaFlags is --crd: schemas of custom kinds that the modules render.
	// Objects of kinds without a known schema are only noted.
	input.SchemaFlags
	// output is the value of -o, one of report.Formats.
	output string
}

// newModuleVetCommand returns the command "module vet". Unlike the other commands
// with [input.RenderFlags], it doesn't require -f.
func newModuleVetCommand(env command.Env) *cobra.Command {
	o := &moduleVetOptions{}
	cmd := &cobra.Command{
		Use:   "vet [DIR ...] [-p PLATFORM] [-f SAMPLES]",
		Short: "Check modules statically and with sample instances",
		Long: `Check modules: those in the given directories and those of -p, or with neither the one
in the working directory.

Without an instance, the command checks that modules load, that names are valid and
that CRDs pass the API server's own validation. It reports removed API versions,
unknown and missing fields, invalid values, readiness checks that cannot pass, invalid
graphs, nodes that are never created, input fields that #Input does not define, and
conditions that are never true. For these checks it generates instances from the
schema. Constraints that a CRD cannot express are listed.

Samples, and the test cases of modules in directories, are rendered, and the rendered
objects are checked in full. If the kind has several versions, samples are converted to
the other versions and back; lost data is an error.`,
		Example: `  pequod module vet ./shop
  pequod module vet -p transforms/ -f samples/ --crd crds/ -o sarif`,
		RunE: func(cmd *cobra.Command, dirs []string) error { return o.run(cmd.Context(), env, dirs) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	o.RenderFlags.AddFlags(cmd)
	o.SchemaFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(report.Formats(), ", "))
	command.CompleteValues(cmd, "output", report.Formats())
	return cmd
}

// run checks the modules and prints one report about all of them. From here on,
// directories are treated like values of -p, so that there is only one way to
// load a module. Without directories and -p, the working directory is the module
// if it contains a .cue file.
//
// Notes about schemas repeat for every object of a kind; only the first one of
// each text is printed.
func (o *moduleVetOptions) run(ctx context.Context, env command.Env, dirs []string) error {
	if err := command.OneOf("--output", o.output, report.Formats()); err != nil {
		return err
	}
	if found, _ := filepath.Glob("*.cue"); len(dirs) == 0 && len(o.Platforms) == 0 && len(found) > 0 {
		dirs = []string{"."}
	}
	for _, dir := range dirs {
		// Without the dot, -p would take a reference of another type.
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, ".") {
			dir = "./" + dir
		}
		o.Platforms = append(o.Platforms, dir)
	}
	if len(o.Platforms) == 0 {
		return errors.New("no module in the working directory; specify module directories, such as ./shop, or platforms with -p")
	}
	schemas, err := o.SchemaFlags.LoadSchemas()
	if err != nil {
		return err
	}
	sum, err := o.checks(ctx, env, schemas)
	if err != nil {
		return err
	}
	sum.Problems = input.UniqueNotes(sum.Problems)
	err = report.Write(env.Out, o.output, sum.Problems, sum.Subjects, report.Options{Color: command.Colored(env.Out), Version: version.Program()})
	if err != nil {
		return command.OutputError(err)
	}
	if sum.Problems.Failed() {
		return command.ExitError{Code: command.ProblemsExitCode(sum.Problems)}
	}
	return nil
}

// checks collects the problems of the modules, of their policies and test cases,
// and of the samples, in this order. A platform that can't be loaded ends the
// checks: its problems are the result, because everything else depends on it.
func (o *moduleVetOptions) checks(ctx context.Context, env command.Env, schemas *kinds.Catalog) (input.Checks, error) {
	var sum input.Checks
	platforms, err := o.Flags.LoadPlatforms(ctx)
	var broken problem.List
	if errors.As(err, &broken) {
		sum.Subjects = append(sum.Subjects, report.Subject{File: strings.Join(o.Platforms, ", ")})
		sum.Problems = broken
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	// A policy is checked once against all platforms that use it, in the order of
	// the first use. policies has the platforms and order the policies.
	policies := map[*render.Policy][]*render.Platform{}
	var order []*render.Policy
	addPolicy := func(policy *render.Policy, p *render.Platform) {
		if policies[policy] == nil {
			order = append(order, policy)
		}
		policies[policy] = append(policies[policy], p)
	}
	for _, p := range platforms.Given {
		sum.Subjects = append(sum.Subjects, report.Subject{File: p.From, Instance: p.Kind})
		ps, err := o.platform(ctx, p, schemas)
		if err != nil {
			return sum, err
		}
		sum.Problems = append(sum.Problems, ps...)
		for _, policy := range p.Policies {
			addPolicy(policy, p)
		}
	}
	// The policies of --policy apply to every platform.
	for _, ref := range o.Policies {
		policy, err := platform.Guard(ctx, o.Limits(), o.ModuleSubject(ctx, ref), func() (*render.Policy, error) { return o.OpenPolicy(ctx, ref) })
		if err != nil {
			return sum, err
		}
		for _, p := range platforms.Given {
			addPolicy(policy, p)
		}
	}
	for _, policy := range order {
		ps, err := platform.Guard(ctx, o.Limits(), render.Subject{Name: policy.Module.Ref, Files: policy.Module.Files}, func() (problem.List, error) {
			return vet.Policy(policy, policies[policy]), nil
		})
		if err != nil {
			return sum, err
		}
		sum.Problems = append(sum.Problems, ps...)
	}
	// Samples come last: the problems of the modules themselves explain most of
	// the problems of their output.
	if len(o.Filenames) == 0 {
		return sum, nil
	}
	o.NodeCheck = schemas.CheckNode
	samples, err := input.RenderAll(ctx, env, &o.RenderFlags, roundTrip, func(input.Rendered[*v1alpha1.ResourceGraph]) error { return nil })
	sum.Subjects = append(sum.Subjects, samples.Subjects...)
	sum.Problems = append(sum.Problems, samples.Problems...)
	return sum, err
}

// platform checks one module: its CRD, its source, and the output of its test
// cases. Each evaluation runs under the limits on its own, so that the limits
// don't depend on the number of checks.
func (o *moduleVetOptions) platform(ctx context.Context, p *render.Platform, schemas *kinds.Catalog) (problem.List, error) {
	var found problem.List
	crd := &crdGenerateOptions{Flags: o.Flags, ObjectFlags: output.ObjectFlags{Output: "yaml"}}
	made, err := platform.Guard(ctx, o.Limits(), p.Subject(), func() (generatedCRD, error) { return crd.generateOne(p) })
	var limit *render.LimitError
	var broken problem.List
	// A module over its limits leaves the check without an answer, so it ends the
	// command. Every other error is a problem of the module.
	switch {
	case errors.As(err, &limit):
		return nil, err
	case errors.As(err, &broken):
		found = append(found, broken...)
	case err != nil:
		found = append(found, problem.Problem{Position: problem.Position{File: p.From}, Rule: problem.RuleModule, Message: err.Error()})
	}
	found = append(found, made.notes...)
	static, err := vet.Module(p, schemas, func(run func()) error {
		_, err := platform.Guard(ctx, o.Limits(), p.Subject(), func() (struct{}, error) { run(); return struct{}{}, nil })
		return err
	})
	if err != nil {
		return nil, err
	}
	found = append(found, static...)
	cases, err := o.cases(ctx, p, schemas)
	if err != nil {
		return nil, err
	}
	// Problems of the source show up in the output of the cases as well.
	for _, q := range cases {
		if !slices.ContainsFunc(static, func(s problem.Problem) bool { return s.Position == q.Position && s.Message == q.Message }) {
			found = append(found, q)
		}
	}
	return found, nil
}

// cases returns the problems of the objects that a module's test cases render. It
// doesn't check the expectations of the cases; that is the job of module test.
// Cases are rendered in parallel, and the problems keep the order of the files.
func (o *moduleVetOptions) cases(ctx context.Context, p *render.Platform, schemas *kinds.Catalog) (problem.List, error) {
	if info, err := os.Stat(p.Module.Ref); err != nil || !info.IsDir() {
		return nil, nil // an embedded module, which has no directory
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(p.Module.Ref), "tests", "*", "instance.yaml"))
	if err != nil {
		return nil, err
	}
	// Literal Secrets are the business of module test and of policies. Here they
	// must not hide the schema problems of the same object.
	opts := render.Options{AllowSecrets: true, Check: schemas.CheckNode}
	jobs := func(yield func(render.Job[problem.List]) bool) {
		for _, file := range files {
			job := render.Job[problem.List]{Subject: render.Subject{Name: file, Files: p.Subject().Files}, Run: func(r *render.Renderer) problem.List {
				return objectProblems(r, p, file)
			}}
			if !yield(job) {
				return
			}
		}
	}
	var found problem.List
	for ps, err := range render.Each(ctx, opts, o.Limits(), jobs) {
		if err != nil {
			return nil, err
		}
		found = append(found, ps...)
	}
	return found, nil
}

// objectProblems renders the instances of one test case and returns the schema
// problems of the rendered objects. All other problems are dropped: they may be
// the expected result of the case. A file that can't be read is a problem, too.
func objectProblems(r *render.Renderer, p *render.Platform, file string) problem.List {
	data, err := files.ReadFile(file)
	if err != nil {
		return problem.List{{Rule: problem.RuleSchema, Message: err.Error()}}
	}
	var found problem.List
	// Invalid instances are skipped: a case may test that an input is rejected.
	for in := range render.Instances(filepath.ToSlash(file), data) {
		if in == nil || in.Group() != p.Group || in.Kind != p.Kind || !p.Serves(in.Version()) || in.SetNamespaces(p, "default").Failed() {
			continue
		}
		for _, q := range r.Render(in, p).Problems {
			if q.Rule == problem.RuleSchema {
				found = append(found, q)
			}
		}
	}
	return found
}

// escapeGlob escapes the characters of a path that are special in a glob pattern.
// Without it, a module directory such as "shop[1]" would match no test case.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// roundTrip converts a rendered sample to the other versions of its kind and
// back, and returns the differences as problems. The API server does such round
// trips whenever a client uses a version that is not stored, so a difference
// would be lost data.
func roundTrip(r render.Result) (*v1alpha1.ResourceGraph, problem.List) {
	return r.Graph, (&render.Renderer{}).RoundTrip(r.Instance, r.Platform)
}
