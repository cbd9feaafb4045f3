package author

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/render"
)

// crdGenerateOptions are the flags of crd generate.
type crdGenerateOptions struct {
	// Flags are -p, the platforms to generate CRDs of, and the limits of their
	// evaluation. At least one -p is required: the embedded modules are not a
	// default here, as they are when instances are rendered.
	platform.Flags
	// ObjectFlags are -o, --output-dir and the pruning of that directory.
	output.ObjectFlags
	platform.ConfineFlags
}

// newCRDGenerateCommand returns the command "crd generate". Its arguments are
// kinds, which need the platforms of -p to be completed or checked.
func newCRDGenerateCommand(env command.Env) *cobra.Command {
	o := &crdGenerateOptions{}
	cmd := &cobra.Command{
		Use:   "generate -p PLATFORM [KIND ...]",
		Short: "Print the CRDs of platforms",
		Long: `Print the CRDs of platforms, or only those of the given kinds. Each CRD has passed the
API server's own validation.

Constraints of a platform's schema that a CRD cannot express are listed on stderr; they
are enforced when instances are rendered. -o github, gitlab, sarif and junit report these
notes and errors on stdout instead of the CRDs, and can be combined with --output-dir.

With --check nothing is written: files of --output-dir that are out of date are listed,
and the exit code is 1.`,
		Example: `  pequod crd generate -p embedded:webservice
  pequod crd generate -p platforms/ --output-dir crds --prune
  pequod crd generate -p platforms/ --output-dir crds --prune --check -o github`,
		RunE: func(cmd *cobra.Command, kinds []string) error { return o.run(cmd.Context(), env, kinds) },
	}
	cmd.ValidArgsFunction = o.completeKinds
	o.Flags.AddFlags(cmd)
	o.ObjectFlags.AddFlags(cmd)
	o.ConfineFlags.AddFlags(cmd)
	return cmd
}

// run generates all CRDs before it prints any of them, so that a broken platform
// never leaves half of the output. With --output-dir, the files appear at Commit.
// Notes don't change the exit code.
func (o *crdGenerateOptions) run(ctx context.Context, env command.Env, kinds []string) error {
	if err := o.ObjectFlags.Validate(); err != nil {
		return err
	}
	if len(o.Platforms) == 0 {
		return errors.New("no platforms given; specify Transforms or modules with -p, such as -p embedded:webservice")
	}
	if err := o.Confine(ctx, o.ObjectFlags.Room(), &o.Flags); err != nil {
		return err
	}
	sum, err := o.commit(ctx, env, kinds)
	if err != nil {
		return sum.Fail(env, o.ReportFormat(), err)
	}
	if o.ReportFormat() != "text" {
		if err := sum.Report(env, o.ReportFormat()); err != nil {
			return err
		}
	}
	return command.ExitWith(command.ProblemsExitCode(sum.Problems))
}

// commit generates and writes the CRDs, and returns the notes and, with --check, the
// files that are out of date. Unless a report format is set, it prints both.
func (o *crdGenerateOptions) commit(ctx context.Context, env command.Env, kinds []string) (input.Checks, error) {
	var sum input.Checks
	catalog, err := o.Flags.LoadPlatforms(ctx)
	if err != nil {
		return sum, err
	}
	platforms, err := ofKinds(catalog.Given, kinds)
	if err != nil {
		return sum, err
	}
	crds, err := generate.CRDs(ctx, o.Limits(), platforms, o.Encoding())
	if err != nil {
		return sum, err
	}
	w := o.ObjectFlags.NewSink("crd generate")
	// crds has the order of platforms, so crds[i] belongs to platforms[i].
	for i, made := range crds {
		from := platforms[i].From
		sum.Subjects = append(sum.Subjects, report.Subject{File: from, Instance: platforms[i].Kind})
		sum.Problems = append(sum.Problems, made.Notes...)
		w.Add(made.Object, problem.Position{File: from})
		for _, n := range made.Notes {
			if o.ReportFormat() == "text" {
				fmt.Fprintf(env.Err, "%v: %s: %s\n", n.Position, n.Path, n.Message)
			}
		}
	}
	stale, err := w.Commit(env)
	if err == nil && o.ReportFormat() == "text" {
		err = input.PrintStale(env, stale)
	}
	sum.Problems = append(sum.Problems, stale...)
	return sum, err
}

// ofKinds returns the platforms of the given kinds, or all platforms if no kinds
// are given. A kind may have its group: Kind.group. An unknown kind is an error
// with the most similar known kind as a hint. The result has the order of kinds.
func ofKinds(platforms []*render.Platform, kinds []string) ([]*render.Platform, error) {
	if len(kinds) == 0 {
		return platforms, nil
	}
	var known []string
	for _, p := range platforms {
		known = append(known, p.Kind)
	}
	var picked []*render.Platform
	for _, kind := range kinds {
		// A kind without its group may pick several platforms, one per group.
		n := len(picked)
		for _, p := range platforms {
			if p.Kind == kind || p.GroupKind() == kind {
				picked = append(picked, p)
			}
		}
		if len(picked) > n {
			continue
		}
		err := fmt.Errorf("no platform for kind %q", kind)
		if hint := source.Hint(kind, known); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return nil, err
	}
	return picked, nil
}

// completeKinds completes the kinds of the platforms of -p. It has to load the
// platforms, because their kinds are written in the modules.
func (o *crdGenerateOptions) completeKinds(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	catalog, err := o.Flags.LoadPlatforms(cmd.Context())
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil, cobra.ShellCompDirectiveError
	}
	var kinds []string
	for _, p := range catalog.Given {
		kinds = append(kinds, p.Kind)
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}
