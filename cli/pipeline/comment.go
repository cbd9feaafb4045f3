package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/comments"
	"github.com/pequod-io/pequod/cli/files"
)

// commentTimeout limits a run with all its repetitions.
const commentTimeout = 10 * time.Minute

// commentOptions are the flags of comment.
type commentOptions struct {
	// name distinguishes the comments of several jobs.
	name string
	// plain is set if the file is not trusted: it is shown as text.
	plain bool
	// labels are those of the pull request among all that begin with labelPrefix.
	labels      []string
	labelPrefix string
}

// newCommentCommand returns the command "comment".
func newCommentCommand(env command.Env) *cobra.Command {
	o := &commentOptions{}
	cmd := &cobra.Command{
		Use:   "comment FILE",
		Short: "Keep a report as one comment on the pull request of a CI job",
		Long: `Keep a report as one comment on the pull request of a CI job. The comment is created
when there is something to say, and updated by later runs. If the file is empty, nothing
is posted, and the comment of an earlier run is folded up. FILE is Markdown, as 'pequod
diff -o markdown' prints it; - is stdin.

The pull request is that of the job in GitHub Actions (events pull_request,
pull_request_target and workflow_run) or GitLab CI (pipelines of merge requests). The
token is in GITHUB_TOKEN or GITLAB_TOKEN. Only comments of the token's account are
changed. Nothing is posted, and the exit code is 1, if the commit of the job is not the
newest of the pull request any more.

Use --plain for a file that another workflow made, such as one of a fork: its text is
shown in a code block, and nothing in it is a mention, a link or HTML.`,
		Example: `  # In a workflow of GitHub Actions
  pequod diff origin/main:graphs graphs -o markdown > report.md
  pequod comment report.md --name shop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.name, "name", "pequod", "name of the comment, which distinguishes those of several jobs")
	fl.BoolVar(&o.plain, "plain", false, "show the file as text, because it is not trusted")
	fl.StringSliceVar(&o.labels, "label", nil, "label to give to the pull request; can be repeated")
	fl.StringVar(&o.labelPrefix, "label-prefix", "", "remove other labels that begin with this")
	return cmd
}

// run keeps the comment and then the labels.
func (o *commentOptions) run(ctx context.Context, env command.Env, file string) error {
	if err := comments.CheckName(o.name); err != nil {
		return err
	}
	for _, l := range o.labels {
		if l == "" || strings.Contains(l, ",") || len(l) > 50 {
			return fmt.Errorf("label %q: want 1 to 50 characters without a comma", l)
		}
	}
	_, data, err := files.ReadInput(ctx, file, env.In)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commentTimeout)
	defer cancel()
	target, err := comments.Find(ctx, env.Getenv)
	if errors.Is(err, comments.ErrStale) {
		return command.ExitError{Code: command.ExitNo, Causes: []error{fmt.Errorf("nothing is posted: %w", err)}}
	}
	if err != nil {
		return err
	}
	post := comments.Post{Name: o.name, Body: string(data), Run: target.Run, Nothing: "Nothing changes any more."}
	if o.plain && strings.TrimSpace(post.Body) != "" {
		post.Body = comments.Plain(post.Body, target.Limit()-200)
	}
	result, err := comments.Keep(ctx, target, post)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(env.Out, "comment %s on pull request %d: %s\n", o.name, target.Number, result); err != nil {
		return command.OutputError(err)
	}
	if len(o.labels) == 0 && o.labelPrefix == "" || result == comments.Newer {
		return nil
	}
	return target.Label(ctx, o.labels, o.labelPrefix)
}
