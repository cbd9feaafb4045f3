package comments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// ErrStale means that the pull request has moved on since the report was made, or that
// the report is not of this pull request.
var ErrStale = errors.New("the commit is not the newest of an open pull request")

// Target is a pull request and what the CI job knows about it.
type Target struct {
	Host
	// Number is that of the pull request.
	Number int64
	// Run orders the runs of a job; see [Post].
	Run int64

	client *client
	labels interface {
		head(ctx context.Context) (string, error)
		label(ctx context.Context, add []string, remove func(string) bool) error
	}
}

// Getenv looks up an environment variable and reports whether it is set.
type Getenv func(string) (string, bool)

// Find returns the pull request of the CI job whose environment getenv has, after it
// made sure that the job's commit is the newest one of that pull request. In GitHub
// Actions this holds for the events pull_request, pull_request_target and workflow_run.
// The latter has no number for a pull request of a fork. Its number is looked up by
// the fork's branch and commit, which GitHub itself wrote into the event.
func Find(ctx context.Context, getenv Getenv) (*Target, error) {
	get := func(name string) string {
		value, _ := getenv(name)
		return value
	}
	switch {
	case get("GITHUB_ACTIONS") == "true":
		return findGitHub(ctx, get)
	case get("GITLAB_CI") == "true":
		return findGitLab(ctx, get)
	}
	return nil, errors.New("there is no pull request here: run it in GitHub Actions or GitLab CI")
}

// event is the part of an event of GitHub Actions that is read.
type event struct {
	PullRequest *struct {
		Number int64
		Head   struct{ SHA string }
	} `json:"pull_request"`
	WorkflowRun *struct {
		ID             int64
		HeadSHA        string `json:"head_sha"`
		HeadBranch     string `json:"head_branch"`
		HeadRepository struct {
			Owner struct{ Login string }
		} `json:"head_repository"`
	} `json:"workflow_run"`
}

var repoForm = lazyregexp.New(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)

func findGitHub(ctx context.Context, get func(string) string) (*Target, error) {
	data, err := os.ReadFile(get("GITHUB_EVENT_PATH"))
	if err != nil {
		return nil, fmt.Errorf("the event of the workflow: %w", err)
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("the event of the workflow: %w", err)
	}
	if !repoForm().MatchString(get("GITHUB_REPOSITORY")) || get("GITHUB_TOKEN") == "" {
		return nil, errors.New("GITHUB_REPOSITORY and GITHUB_TOKEN must be set")
	}
	header := http.Header{
		"Authorization":        {"Bearer " + get("GITHUB_TOKEN")},
		"Accept":               {"application/vnd.github+json"},
		"X-Github-Api-Version": {"2022-11-28"},
	}
	c, err := newClient(get("GITHUB_API_URL"), header)
	if err != nil {
		return nil, err
	}
	g := &github{client: c, graphQL: get("GITHUB_GRAPHQL_URL"), repo: get("GITHUB_REPOSITORY")}
	t := &Target{Host: g, client: c, labels: g}
	t.Run, _ = strconv.ParseInt(get("GITHUB_RUN_ID"), 10, 64) // without it the order is unknown
	// The token goes to both addresses.
	if _, err := newClient(g.graphQL, nil); err != nil {
		return nil, err
	}
	switch {
	case e.PullRequest != nil:
		g.number = e.PullRequest.Number
		err = t.check(ctx, e.PullRequest.Head.SHA)
	case e.WorkflowRun != nil:
		run := e.WorkflowRun
		// The comment belongs to the run that made the report.
		t.Run = run.ID
		g.number, err = g.numberOf(ctx, run.HeadRepository.Owner.Login, run.HeadBranch, run.HeadSHA)
	default:
		err = errors.New("the event of the workflow is neither pull_request nor workflow_run")
	}
	t.Number = g.number
	return t, err
}

func findGitLab(ctx context.Context, get func(string) string) (*Target, error) {
	number, err := strconv.ParseInt(get("CI_MERGE_REQUEST_IID"), 10, 64)
	if err != nil {
		return nil, errors.New("CI_MERGE_REQUEST_IID is missing: run the job in pipelines of merge requests")
	}
	if get("GITLAB_TOKEN") == "" {
		return nil, errors.New("GITLAB_TOKEN is missing: it is a project access token with the scope api")
	}
	c, err := newClient(get("CI_API_V4_URL"), http.Header{"Private-Token": {get("GITLAB_TOKEN")}})
	if err != nil {
		return nil, err
	}
	project := get("CI_MERGE_REQUEST_PROJECT_ID")
	if project == "" {
		project = get("CI_PROJECT_ID")
	}
	g := &gitlab{client: c, project: project, number: number}
	t := &Target{Host: g, client: c, labels: g, Number: number}
	t.Run, _ = strconv.ParseInt(get("CI_PIPELINE_ID"), 10, 64) // without it the order is unknown
	sha := get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
	if sha == "" {
		// It is set only in pipelines of merged results.
		sha = get("CI_COMMIT_SHA")
	}
	return t, t.check(ctx, sha)
}

// check returns ErrStale if sha is not the newest commit of the pull request.
func (t *Target) check(ctx context.Context, sha string) error {
	head, err := t.labels.head(ctx)
	if err == nil && head != sha {
		return ErrStale
	}
	return err
}

// Label makes labels those of the pull request among all labels that begin with prefix.
// Without a prefix it only adds labels.
func (t *Target) Label(ctx context.Context, labels []string, prefix string) error {
	return t.labels.label(ctx, labels, func(name string) bool {
		wanted := slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) })
		return prefix != "" && strings.HasPrefix(name, prefix) && !wanted
	})
}
