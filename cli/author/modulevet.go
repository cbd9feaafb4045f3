package author

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
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
	platform.ConfineFlags
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
schema, and renders those whose values are complete: it reports values that stay
incomplete, optional fields that are used without a guard, indexes out of range, and
Secrets with literal data unless --allow-secrets is set. Constraints that a CRD cannot
express are listed.

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
	o.ConfineFlags.AddFlags(cmd)
	command.Choice(cmd, &o.output, "output", "o", "text", report.Formats(), "output format: "+strings.Join(report.Formats(), ", "))
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
	if err := o.Confine(ctx, confine.Room{}, &o.RenderFlags); err != nil {
		return err
	}
	schemas, err := o.SchemaFlags.LoadSchemas(ctx)
	if err != nil {
		return input.Checks{}.Fail(env, o.output, err)
	}
	sum, err := o.checks(ctx, env, schemas)
	if err != nil {
		return sum.Fail(env, o.output, err)
	}
	sum.Problems = input.UniqueNotes(sum.Problems)
	if err := sum.Report(env, o.output); err != nil {
		return err
	}
	return command.ExitWith(command.ProblemsExitCode(sum.Problems))
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
	opts := vet.Options{Limits: o.Limits(), Catalog: schemas, AllowSecrets: o.AllowSecrets}
	for _, p := range platforms.Given {
		sum.Subjects = append(sum.Subjects, report.Subject{File: p.From, Instance: p.Kind})
		found, err := vet.Platform(ctx, p, opts)
		if err != nil {
			return sum, err
		}
		sum.Problems = append(sum.Problems, found...)
	}
	policies, err := o.LoadPolicies(ctx)
	if err != nil {
		return sum, err
	}
	found, err := vet.Policies(ctx, policies, platforms.Given, opts)
	if err != nil {
		return sum, err
	}
	sum.Problems = append(sum.Problems, found...)
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

// roundTrip converts a rendered sample to the other versions of its kind and
// back, and returns the differences as problems. The API server does such round
// trips whenever a client uses a version that is not stored, so a difference
// would be lost data.
func roundTrip(r render.Result) (*v1alpha1.ResourceGraph, problem.List) {
	return r.Graph, (&render.Renderer{}).RoundTrip(r.Instance, r.Platform)
}
