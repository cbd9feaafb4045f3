package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/sides"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/html"
	"github.com/pequod-io/pequod/review/markdown"
	"github.com/pequod-io/pequod/review/text"
)

// reviewFormats are the values of -o of review, and the formats of --report.
var reviewFormats = []string{"text", "markdown", "html", "json"}

// reviewOptions are the flags of review.
type reviewOptions struct {
	// RenderFlags select the instances of the head. The base has flags of its own.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user. They have an effect only with live.
	kube.ConnectionFlags
	platform.ConfineFlags
	// live refines the forecast by dry runs in the cluster.
	live bool
	// base is the revision to compare with, or "" for the default branch.
	base string
	// baseOutput is a directory of committed graphs that stand for the base, or "".
	baseOutput string
	// tool is another version of the program, which renders the base.
	tool   string
	output string
	// reports are the values of --report, FORMAT=FILE.
	reports []string
	// failOn are conditions with exit code 1.
	failOn []string
	// maxSize is the limit of markdown in characters; 0 means no limit.
	maxSize int
	// link is the address of the whole report, and sourceLink that of a file of the head.
	link       string
	sourceLink string
}

// newReviewCommand returns the command "review".
func newReviewCommand(env command.Env) *cobra.Command {
	o := &reviewOptions{}
	cmd := &cobra.Command{
		Use:   "review -f FILENAME",
		Short: "Show what a branch changes in the cluster, for a reviewer",
		Long: `Show what a branch changes in the cluster, for a reviewer.

The base is the merge base of HEAD and --base, rendered with its own pequod.yaml,
modules, policies and pequod.lock. The head is the working tree. Nothing is checked
out, and no cluster is needed. With --base-output, graphs that are committed in the base
stand for it, so that its modules aren't needed.

The report begins with a verdict. What can't be rendered on one of the sides follows as
unknown; it is never shown as unchanged. Then come refused changes and other dangers,
changed modules, policies and settings, and the changes. Instances that change alike are
one group, whose first instance stands for all. The values of Secrets are masked.

With --for-each, both sides are rendered once for each cluster of their files, as render
does. The same change in many clusters is one group, which tells the clusters.

With --live, the changed graphs are also planned in the cluster of the kubeconfig, as
diff does: the API server checks every object in a dry run, and the report tells what it
refuses, how many Pods run, which drift is overwritten, and which objects don't exist or
belong to others. Nothing is written. What can't be asked keeps the forecast of the
files, and the report says so.

The exit code is 0 if there is a report, 1 if a condition of --fail-on is met, and 2 if
a part of the head can't be rendered, or the cluster can't be asked with --live. With --fail-on policy, violations of policies are
such a condition. A base that can't be rendered is no error.`,
		Example: `  # What does this branch change?
  pequod review -f apps/ -p platforms/

  # A comment on a pull request, and the same as JSON
  pequod review -f apps/ -o markdown --report json=review.json > comment.md

  # A page for the artifacts of a pipeline
  pequod review -f apps/ -o html --source-link 'https://github.com/acme/apps/blob/4f2c1aa/{file}#L{line}' > review.html

  # Compare with the graphs that the base has committed in deploy/
  pequod review -f apps/ --base-output deploy/

  # The same, checked by the cluster that it is for
  pequod review -f apps/ --live --context production

  # Refuse changes that delete objects or lose data
  pequod review -f apps/ --fail-on removals,data-loss`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd, env) },
	}
	o.addFlags(cmd)
	return cmd
}

// addFlags registers the flags with cmd.
func (o *reviewOptions) addFlags(cmd *cobra.Command) {
	o.RenderFlags.AddFlags(cmd)
	o.AddForEach(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.ConfineFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.base, "base", "", "revision to compare with; the base is its merge base with HEAD (default: the default branch of origin, or main or master)")
	fl.StringVar(&o.baseOutput, "base-output", "", "directory with the ResourceGraphs that render --output-dir committed: they stand for the base, which is not rendered")
	fl.StringVar(&o.tool, "tool", "", "another version of pequod: compare what it makes of the working tree, instead of a revision")
	command.Choice(cmd, &o.output, "output", "o", "text", reviewFormats, "output format: "+strings.Join(reviewFormats, ", "))
	fl.StringArrayVar(&o.reports, "report", nil, "write the report to a file in another format, as FORMAT=FILE; can be repeated")
	fl.StringSliceVar(&o.failOn, "fail-on", nil, "exit with 1 if the change has one of these: "+strings.Join(conditionNames(), ", "))
	fl.IntVar(&o.maxSize, "max-size", commentSize, "truncate markdown to this number of characters; 0 means no limit")
	fl.BoolVar(&o.live, "live", false, "refine the forecast by server-side dry runs in the cluster of the connection flags")
	fl.StringVar(&o.link, "link", "", "address of the whole report, which a truncated one names")
	fl.StringVar(&o.sourceLink, "source-link", "", "address of a file at the hosting site, to which html links; {file} is its path from the working directory, and {line} a line")
	command.Must(cmd.RegisterFlagCompletionFunc("source-link", cobra.NoFileCompletions))
	command.Must(cmd.RegisterFlagCompletionFunc("base", cobra.NoFileCompletions))
	command.Must(cmd.RegisterFlagCompletionFunc("link", cobra.NoFileCompletions))
	command.Must(cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(conditionNames(), cobra.ShellCompDirectiveNoFileComp)))
}

// conditionNames returns the values of --fail-on.
func conditionNames() []string {
	var names []string
	for _, c := range review.Conditions() {
		names = append(names, string(c))
	}
	return names
}

// validate checks the flags before anything is read.
func (o *reviewOptions) validate() error {
	if o.tool != "" && o.base != "" {
		return errors.New("--tool compares two programs for one tree, and --base two trees; specify one of them")
	}
	if o.tool != "" && o.baseOutput != "" {
		return errors.New("--tool renders the base, and --base-output replaces that; specify one of them")
	}
	if len(o.ForEach) > 0 && (o.tool != "" || o.live) {
		return errors.New("--for-each renders for many clusters: --live asks a single one, and --tool renders for none; leave them out")
	}
	if o.maxSize < 0 {
		return errors.New("--max-size: must not be negative")
	}
	if slices.Contains(o.Filenames, "-") {
		return errors.New("review compares files with those of a revision; stdin has no revision")
	}
	if o.sourceLink != "" && (!strings.HasPrefix(o.sourceLink, "https://") && !strings.HasPrefix(o.sourceLink, "http://") || !strings.Contains(o.sourceLink, "{file}")) {
		return fmt.Errorf("--source-link: want an address that begins with https:// and contains {file}, not %q", o.sourceLink)
	}
	for _, name := range o.failOn {
		if !slices.Contains(conditionNames(), name) {
			return fmt.Errorf("--fail-on: %q is none of %s", name, strings.Join(conditionNames(), ", "))
		}
	}
	for _, r := range o.reports {
		if format, file, ok := strings.Cut(r, "="); !ok || file == "" || !slices.Contains(reviewFormats, format) {
			return fmt.Errorf("--report: want FORMAT=FILE with a format of %s, not %q", strings.Join(reviewFormats, ", "), r)
		}
	}
	return nil
}

// run compares both sides and writes all reports. The exit code is decided last, so that a
// refused change has its report, too.
func (o *reviewOptions) run(ctx context.Context, cmd *cobra.Command, env command.Env) error {
	if err := o.validate(); err != nil {
		return err
	}
	if _, err := o.Paths(); err != nil {
		return err
	}
	r, err := o.compare(ctx, cmd, env)
	if err != nil {
		return err
	}
	if o.live {
		if err := o.refine(ctx, env, r); err != nil {
			return err
		}
	}
	r.Link = o.link
	for _, report := range o.reports {
		format, file, _ := strings.Cut(report, "=")
		if err := replaceFile(file, func(w io.Writer) error { return o.write(w, r, format, 0, nil) }); err != nil {
			return err
		}
	}
	if err := o.write(env.Out, r, o.output, o.maxSize, style.Painter{Color: style.Colored(env.Out)}.Sign); err != nil {
		return command.OutputError(err)
	}
	return command.ExitWith(o.exitCode(r))
}

// compare renders both sides and returns their report.
func (o *reviewOptions) compare(ctx context.Context, cmd *cobra.Command, env command.Env) (*review.Report, error) {
	from, err := o.openBase(ctx, cmd, env)
	if err != nil {
		return nil, err
	}
	defer from.checkout.Close() // the directory is temporary
	if err := o.confine(ctx, from); err != nil {
		return nil, err
	}
	head, err := sides.Render(ctx, env, &o.RenderFlags, &sides.Checkout{}, review.Side{Name: "working tree"}, nil)
	if err != nil {
		return nil, err
	}
	if o.tool != "" {
		return o.compareTools(ctx, env, head)
	}
	base, err := o.renderBase(ctx, cmd, env, from, head)
	if err == nil {
		err = from.checkout.Err()
	}
	if err != nil {
		return nil, err
	}
	defer boundGarbage()()
	if err := sides.Units(ctx, base, head); err != nil {
		return nil, err
	}
	if o.baseOutput != "" {
		if err := base.UseOutput(ctx, o.baseOutput, head); err != nil {
			return nil, err
		}
	} else {
		base.MissSubmodules(head)
	}
	r, err := review.New(base.Tree, head.Tree, sides.Inputs(ctx, env, base, head))
	if err != nil {
		return nil, err
	}
	if err := checkOutput(ctx, cmd, env, r, base, head); err != nil {
		return nil, err
	}
	sides.AddFields(r, base, head)
	return r, sides.AddModuleFields(ctx, r, base, head)
}

// confine limits the process before anything is evaluated, if the flags demand it.
func (o *reviewOptions) confine(ctx context.Context, from *baseFiles) error {
	if !o.Confined() {
		return nil
	}
	var may confine.Room
	if dir := from.checkout.Root(); dir != "" {
		may.Write, may.Empty = []string{dir}, []string{filepath.Dir(dir)} // it is removed at the end
	}
	for _, r := range o.reports {
		_, file, _ := strings.Cut(r, "=")
		may.Write = append(may.Write, filepath.Dir(file))
	}
	if tool, err := exec.LookPath(o.tool); err == nil {
		may.Run = append(may.Run, tool)
	}
	if o.live {
		may = may.And(o.Room(ctx))
	}
	fetch := []platform.Fetcher{&o.RenderFlags}
	if from.flags != nil {
		fetch = append(fetch, from.flags)
	}
	return o.Confine(ctx, may, fetch...)
}

// compareTools compares what another version of the program makes of the working tree.
func (o *reviewOptions) compareTools(ctx context.Context, env command.Env, head *sides.Side) (*review.Report, error) {
	if err := sides.Units(ctx, head, head); err != nil {
		return nil, err
	}
	base, err := sides.RenderWithTool(ctx, o.tool, &o.RenderFlags, head)
	if err != nil {
		return nil, err
	}
	return review.New(base.Tree, head.Tree, sides.Inputs(ctx, env, base, head))
}

// exitCode returns the exit code for a report.
func (o *reviewOptions) exitCode(r *review.Report) int {
	policies := slices.Contains(o.failOn, string(review.Policy))
	for _, u := range r.Unknown {
		// A violation is an answer to a condition about policies.
		if u.Sides != review.Base && !(policies && u.Violates()) {
			return command.ExitUnknown
		}
	}
	if r.Live != nil && r.Live.Incomplete {
		return command.ExitUnknown
	}
	for _, name := range o.failOn {
		if r.Count(review.Condition(name)) > 0 {
			return command.ExitNo
		}
	}
	return command.ExitOK
}

// write prints a report in one of reviewFormats.
func (o *reviewOptions) write(w io.Writer, r *review.Report, format string, maxSize int, paint func(byte, bool, string) string) error {
	switch format {
	case "json":
		return review.WriteJSON(w, r)
	case "markdown":
		return markdown.Write(w, r, maxSize)
	case "html":
		return html.Write(w, r, html.Options{Source: o.sourceLink})
	}
	return text.Write(w, r, paint)
}
