package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/cli/platform"
)

// diffFormats are the formats of diff.
var diffFormats = []string{"text", "json", "markdown"}

// commentSize is how long a comment on a pull request may be, in characters:
// GitHub takes 65,536, and somebody may want to add a line.
const commentSize = 60_000

type diffOptions struct {
	input.RenderFlags
	kube.ConnectionFlags
	output                   string
	maxSize                  int
	impact                   bool
	against                  []string
	prune, allowEmpty, force bool
}

func newDiffCommand(env command.Env) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff {-f FILENAME | OLD NEW}",
		Short: "Compare graphs with a cluster, two sets of objects, or what two modules make of instances",
		Long: `Compare graphs with a cluster, or two sets of objects offline: which are added,
changed and removed, field by field, with a warning of what can't be changed in
place and what is lost. Values of Secrets are shown as ***.

With -f, ResourceGraphs and instances are compared with the cluster: what an apply
would change, by a server-side dry run of every object. A field that somebody else
changed since the graph was applied says who; what the graph changes says nothing.
Values that are known after the apply are left open, and so are objects whose
definition or namespace comes with the graph. What the apply would fail of is a
warning of its object, which counts as refused.

OLD and NEW are files, directories, or REV:PATH for either in a git revision.
They hold manifests, ResourceGraphs, or both. A ResourceGraph stands for the
objects of its nodes and for its own settings; what changes nothing in the
cluster, such as the digest of its module, makes no difference. Objects are
compared by group, kind, namespace and name.

With --impact, instances are rendered with the platforms of --against and with
those of -p, and compared: which instances a change of a module touches and how,
and which no longer validate. Instances that change alike are shown once.

The exit code is 0 without differences, 1 with, and 2 if an object couldn't be
compared.`,
		Example: `  # What an apply would change, and what others changed since the last
  pequod diff -f app.yaml -p platforms/

  # What a pull request changes
  pequod diff main:manifests manifests
  pequod diff main:manifests manifests -o markdown > comment.md

  # What a new version of a module does to everybody
  pequod diff --impact -p ./webservice --against ../main/webservice -f apps/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// What pequod.yaml gives for -f doesn't contradict two arguments.
			if err := o.validate(args, cmd.Flags().Changed("filename")); err != nil {
				return err
			}
			switch {
			case o.impact:
				return o.runImpact(cmd.Context(), env)
			case len(args) == 0:
				return o.runLive(cmd.Context(), env)
			}
			return o.run(cmd.Context(), env, args[0], args[1])
		},
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances to compare with a cluster: a YAML or JSON file, a directory, or - for stdin; repeatable"
	fl.BoolVar(&o.prune, "prune", true, "with -f, show what the graph no longer lists as removed")
	fl.BoolVar(&o.allowEmpty, "allow-empty", false, "with -f, let a graph without nodes remove everything that it owns")
	fl.BoolVar(&o.force, "force-conflicts", false, "with -f, take fields that other managers hold")
	fl.StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(diffFormats, ", "))
	fl.IntVar(&o.maxSize, "max-size", commentSize, "cut markdown to this many characters; 0 means never")
	fl.BoolVar(&o.impact, "impact", false, "compare what the platforms of -p and --against make of the instances of -f")
	fl.StringArrayVar(&o.against, "against", nil, "with --impact, platform to compare with, as in -p; repeatable")
	command.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(diffFormats, cobra.ShellCompDirectiveNoFileComp)))
	command.Must(cmd.RegisterFlagCompletionFunc("against", platform.CompletePlatforms))
	return cmd
}

func (o *diffOptions) validate(args []string, named bool) error {
	if err := command.OneOf("--output", o.output, diffFormats); err != nil {
		return err
	}
	switch {
	case o.maxSize < 0:
		return errors.New("--max-size: must not be negative")
	case o.impact && len(args) > 0:
		return fmt.Errorf("diff --impact takes no arguments; it compares -p with --against, for the instances of -f")
	case o.impact && (len(o.Platforms) == 0 || len(o.against) == 0):
		return errors.New("diff --impact compares platforms: name the new with -p and the old with --against")
	case !o.impact && len(o.against) > 0:
		return errors.New("--against goes with --impact")
	case !o.impact && len(args) == 0 && len(o.Filenames) == 0:
		return errors.New("diff takes two arguments, OLD and NEW, or -f to compare with a cluster")
	case !o.impact && len(args) > 0 && named:
		return errors.New("diff compares OLD with NEW, or -f with a cluster, not both")
	case !o.impact && len(args) > 0 && len(args) != 2:
		return fmt.Errorf("diff takes two arguments, OLD and NEW, not %d", len(args))
	}
	return nil
}

func (o *diffOptions) run(ctx context.Context, env command.Env, oldArg, newArg string) error {
	before, err := readObjects(ctx, oldArg)
	if err != nil {
		return err
	}
	after, err := readObjects(ctx, newArg)
	if err != nil {
		return err
	}
	d := objectdiff.Compare(before, after)
	if err := o.write(env.Out, d); err != nil {
		return command.OutputError(err)
	}
	if len(d.Objects) > 0 {
		return command.ExitError{Code: command.ExitNo}
	}
	return nil
}

func (o *diffOptions) write(w io.Writer, d objectdiff.Diff) error {
	switch o.output {
	case "json":
		return objectdiff.WriteJSON(w, d)
	case "markdown":
		return objectdiff.WriteMarkdown(w, d, o.maxSize)
	}
	return objectdiff.WriteText(w, d, command.Colored(w))
}
