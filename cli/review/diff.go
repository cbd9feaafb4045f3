package review

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/html"
	"github.com/pequod-io/pequod/review/markdown"
	"github.com/pequod-io/pequod/review/text"
)

// diffFormats are the values of -o of diff, in all three modes. "markdown" is for
// comments on pull requests, and "github" prints annotations.
var diffFormats = []string{"text", "json", "markdown", "html", "github"}

// commentSize is the default limit of markdown, in characters. GitHub accepts 65,536
// in a comment; the difference leaves room for lines that a workflow adds.
const commentSize = 60_000

// diffOptions are the flags of diff. They belong to three modes, and validate
// refuses most combinations of flags of different modes:
//
//   - two arguments: compare OLD with NEW, offline
//   - impact: compare the output of -p and of against, offline
//   - otherwise: compare the graphs of -f with a cluster
type diffOptions struct {
	// RenderFlags select the graphs to compare with a cluster, or with impact the
	// instances and the new platforms. They have no effect on OLD and NEW.
	input.RenderFlags
	// ConnectionFlags select the cluster and the user. They have an effect only
	// without impact and without arguments.
	kube.ConnectionFlags
	platform.ConfineFlags
	// output is the value of -o, one of diffFormats.
	output string
	// maxSize is the limit of markdown in characters; 0 means no limit. Other
	// formats are never truncated.
	maxSize int
	// impact selects the comparison of two versions of modules. It requires -p and
	// against, and excludes arguments.
	impact bool
	// against are the old platforms of --impact, in the form of -p.
	against []string
	// prune, allowEmpty and force are those of apply, for the comparison with a
	// cluster. The other modes ignore them.
	prune, allowEmpty, force bool
	// selector is --selector: graphs of the cluster that are shown as removed if the files don't have
	// them. selected is nil without the flag.
	selector string
	selected labels.Selector
}

// newDiffCommand returns the command "diff". It has three modes with a file each:
// two sets of objects (diffobjects.go), a cluster (livediff.go), and two versions
// of modules (diffimpact.go). All of them share the formats and the exit codes.
func newDiffCommand(env command.Env) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff {-f FILENAME | NAME | KIND/NAME | OLD NEW}",
		Short: "Compare graphs with a cluster, two sets of objects, or the output of two modules",
		Long: `Compare graphs with a cluster, or two sets of objects offline. The report is that of
'pequod review': a verdict, dangers such as immutable fields and lost data, and then added,
changed and removed objects, field by field, with the consequences in the cluster
(docs/consequences.md). Objects that change alike are one group. Values of Secrets are
shown as ***.

With -f, ResourceGraphs and instances are compared with the cluster: the differences
are the changes of an apply, found by a server-side dry run of every object. A field
that another manager changed since the last apply is marked with that manager; other
changes come from the graph. Values that are only known after the apply are not
compared, nor are objects whose definition or namespace is part of the graph. If the
apply of an object would fail, the object has a warning and counts as refused.

With --selector, graphs in the cluster that the selector selects and the files don't have are
shown as removed, as GitOps tools that prune would remove them. They are looked for in
--namespace and in the namespaces of the files. --selector '' selects all graphs. Labels are those
of ResourceGraphs; a graph that only 'pequod apply' has executed has none.

With NAME, the ResourceGraph in the cluster is compared with the cluster: the differences are
drift, and changes that are not applied yet. NAME is that of the graph or of its instance, or
KIND/NAME of the instance or of an object of the graph.

An account that may read objects but not patch them gets the same comparison without
the API server: a new field then lacks the defaults that the API server would add to
it, and nothing is validated. A line on stderr says so.

OLD and NEW are files, directories, REV:PATH for either in a git revision, or bundles
(oci://HOST/REPOSITORY:TAG, oci-layout:DIR[:TAG] or FILE.oci.tar[:TAG]). They contain
manifests, ResourceGraphs, or both. A ResourceGraph stands for the objects of
its nodes and for its own settings; fields without an effect in the cluster, such as
the digest of its module, are ignored. Objects are matched by group, kind, namespace
and name.

With --impact, instances are rendered with the platforms of --against and of -p. The
report has the instances that a change of a module affects, and as unknown those that are
not valid with one of the versions. Instances with the same mistake are one entry; -o json
lists all of them.

With -o github, dangers and changes are annotations of the files of a pull request.

The exit code is 0 without differences, 1 with differences, and 2 if an object could
not be compared.`,
		Example: `  # Show the changes of an apply, and drift since the last one
  pequod diff -f app.yaml -p platforms/

  # Also show graphs whose files are gone
  pequod diff -f graphs/ -n shop --selector team=web

  # Show what others changed in a graph
  pequod diff deployment/web -n shop

  # Show the changes of a pull request
  pequod diff main:manifests manifests
  pequod diff main:manifests manifests -o markdown > comment.md

  # Show the changes of a release
  pequod diff oci://ghcr.io/shop/deploy:1.4.0 oci://ghcr.io/shop/deploy:1.5.0

  # Show the effect of a new version of a module on all instances
  pequod diff --impact -p ./webservice --against main:webservice -f apps/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A default for -f in pequod.yaml doesn't conflict with two arguments.
			if err := o.validate(args, cmd.Flags().Changed("filename")); err != nil {
				return err
			}
			if cmd.Flags().Changed("selector") && (o.impact || len(args) > 0) {
				return errors.New("--selector requires -f")
			}
			if o.selector != "" || cmd.Flags().Changed("selector") {
				var err error
				if o.selected, err = labels.Parse(o.selector); err != nil {
					return fmt.Errorf("--selector: %w", err)
				}
			}
			if !o.impact && len(args) < 2 {
				return o.runLive(cmd.Context(), env, args)
			}
			o.Namespace = cmp.Or(o.Namespace, "default") // the kubeconfig has no say offline
			if o.impact {
				return o.runImpact(cmd.Context(), env)
			}
			return o.run(cmd.Context(), env, args[0], args[1])
		},
	}
	o.RenderFlags.AddFlags(cmd)
	o.ConnectionFlags.AddFlags(cmd)
	o.ConfineFlags.AddFlags(cmd)
	fl := cmd.Flags()
	fl.Lookup("filename").Usage = "ResourceGraphs and instances to compare with a cluster: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	kube.FollowContext(cmd)
	fl.StringVarP(&o.selector, "selector", "l", "", "with -f, label selector of graphs in the cluster that are shown as removed if the files don't have them; '' selects all")
	command.Must(cmd.RegisterFlagCompletionFunc("selector", cobra.NoFileCompletions))
	fl.BoolVar(&o.prune, "prune", true, "with -f, show objects that the graph no longer lists as removed")
	fl.BoolVar(&o.allowEmpty, "allow-empty", false, "with -f, allow a graph without nodes to remove everything that it owns")
	fl.BoolVar(&o.force, "force-conflicts", false, "with -f, take over fields of other field managers")
	command.Choice(cmd, &o.output, "output", "o", "text", diffFormats, "output format: "+strings.Join(diffFormats, ", "))
	fl.IntVar(&o.maxSize, "max-size", commentSize, "truncate markdown to this number of characters; 0 means no limit")
	fl.BoolVar(&o.impact, "impact", false, "compare the output of the platforms of -p and --against for the instances of -f")
	fl.StringArrayVar(&o.against, "against", nil, "with --impact, platform to compare with, as in -p; can be repeated")
	command.Must(cmd.RegisterFlagCompletionFunc("against", platform.CompletePlatforms))
	return cmd
}

// validate checks the flags and arguments. named reports whether -f is on the
// command line rather than in pequod.yaml. The errors describe the modes, because
// a wrong combination usually means that the wrong one was chosen.
func (o *diffOptions) validate(args []string, named bool) error {
	oneFile := false
	if len(args) == 1 {
		_, err := os.Stat(args[0])
		oneFile = err == nil
	}
	switch {
	case o.maxSize < 0:
		return errors.New("--max-size: must not be negative")
	case o.impact && len(args) > 0:
		return fmt.Errorf("diff --impact takes no arguments; it compares -p with --against, for the instances of -f")
	case o.impact && (len(o.Platforms) == 0 || len(o.against) == 0):
		return errors.New("diff --impact requires the new platforms in -p and the old ones in --against")
	case !o.impact && len(o.against) > 0:
		return errors.New("--against requires --impact")
	case !o.impact && len(args) == 0 && len(o.Filenames) == 0:
		return errors.New("diff takes two arguments, OLD and NEW, or -f to compare with a cluster")
	case !o.impact && len(args) > 0 && named:
		return errors.New("diff compares OLD with NEW, or -f with a cluster, not both")
	case !o.impact && (oneFile || len(args) > 2):
		return fmt.Errorf("diff takes two arguments, OLD and NEW, not %d", len(args))
	}
	return nil
}

// write prints a report in the format of -o. Only text on a terminal has colors.
func (o *diffOptions) write(w io.Writer, r *review.Report) error {
	switch o.output {
	case "json":
		return review.WriteJSONDiff(w, r)
	case "markdown":
		return markdown.Write(w, r, o.maxSize)
	case "html":
		return html.Write(w, r, html.Options{})
	case "github":
		return writeGitHub(w, r)
	}
	return text.WriteBrief(w, r, style.Painter{Color: style.Colored(w)}.Sign)
}

// differenceCode returns the exit code for a report of a comparison without failures.
func differenceCode(r *review.Report) int {
	if len(r.Instances) > 0 {
		return command.ExitNo
	}
	return command.ExitOK
}
