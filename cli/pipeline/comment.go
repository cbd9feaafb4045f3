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
	// review is the file with the JSON of the report, from which labels and outputs are
	// made.
	review      string
	labelPrefix string
	// noPost prints the outputs and posts nothing.
	noPost bool
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
shown in a code block, and nothing in it is a mention, a link or HTML.

With --review, the JSON of the same report decides whether there is something to say.
--label-prefix then gives the pull request a label for each condition of --fail-on that
is met, such as pequod/restarts, and removes its other labels with the prefix.

The results are lines NAME=VALUE on stdout, as the outputs of a step of GitHub Actions
are written: comment, and with --review changed, verdict and conditions. --no-post
prints them and posts nothing.`,
		Example: `  # In a workflow of GitHub Actions
  pequod review -o markdown --report json=review.json > review.md
  pequod comment review.md --review review.json --label-prefix pequod/ >> "$GITHUB_OUTPUT"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.name, "name", "pequod", "name of the comment, which distinguishes those of several jobs")
	fl.BoolVar(&o.plain, "plain", false, "show the file as text, because it is not trusted")
	fl.StringVar(&o.review, "review", "", "JSON of the report, written by pequod review")
	fl.StringVar(&o.labelPrefix, "label-prefix", "", "with --review, keep labels that begin with this")
	fl.BoolVar(&o.noPost, "no-post", false, "print the outputs and post nothing")
	return cmd
}

// run keeps the comment and then the labels.
func (o *commentOptions) run(ctx context.Context, env command.Env, file string) error {
	if err := o.validate(); err != nil {
		return err
	}
	_, data, err := files.ReadInput(ctx, file, env.In)
	if err != nil {
		return err
	}
	post := comments.Post{Name: o.name, Body: string(data), Nothing: "Nothing changes any more."}
	var s summary
	if o.review != "" {
		if s, err = readSummary(ctx, o.review); err != nil {
			return err
		}
		if !s.changed() {
			post.Body = ""
		}
	}
	result := comments.Result("skipped")
	if !o.noPost {
		ctx, cancel := context.WithTimeout(ctx, commentTimeout)
		defer cancel()
		if result, err = o.post(ctx, env, post, s); err != nil {
			return err
		}
	}
	out := fmt.Sprintf("comment=%s\n", result)
	if o.review != "" {
		out += s.outputs()
	}
	_, err = fmt.Fprint(env.Out, out)
	return command.OutputError(err)
}

// validate checks the flags.
func (o *commentOptions) validate() error {
	if o.labelPrefix != "" && o.review == "" {
		return errors.New("--label-prefix requires --review")
	}
	if strings.ContainsAny(o.labelPrefix, ",\n") || len(o.labelPrefix) > 30 {
		return fmt.Errorf("--label-prefix %q: want up to 30 characters without a comma", o.labelPrefix)
	}
	return comments.CheckName(o.name)
}

// post changes the pull request.
func (o *commentOptions) post(ctx context.Context, env command.Env, post comments.Post, s summary) (comments.Result, error) {
	target, err := comments.Find(ctx, env.Getenv)
	if errors.Is(err, comments.ErrStale) {
		return "", command.ExitError{Code: command.ExitNo, Causes: []error{fmt.Errorf("nothing is posted: %w", err)}}
	}
	if err != nil {
		return "", err
	}
	post.Run = target.Run
	if o.plain && strings.TrimSpace(post.Body) != "" {
		post.Body = comments.Plain(post.Body, target.Limit()-200)
	}
	result, err := comments.Keep(ctx, target, post)
	if err != nil || result == comments.Newer || o.labelPrefix == "" {
		return result, err
	}
	var labels []string
	for _, c := range s.met() {
		labels = append(labels, o.labelPrefix+string(c))
	}
	return result, target.Label(ctx, labels, o.labelPrefix)
}
