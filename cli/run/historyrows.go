package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/actions/history/postgres"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
)

// The values of --from.
const (
	fromStatus   = "status"
	fromPostgres = "postgres"
)

// maxShown is the number of rows that are read from PostgreSQL without --all, and maxAll with it.
const (
	maxShown = 50
	maxAll   = 1_000_000
)

// rowOptions select where the rows of a history are read, and which.
type rowOptions struct {
	from string
	// urlFile has the URL of the database.
	urlFile string
	// since is a duration, or a number of days such as 30d.
	since string
	all   bool
}

// query returns the query for PostgreSQL.
func (o *rowOptions) query(namespace, name string, now time.Time) (postgres.Query, error) {
	q := postgres.Query{Namespace: namespace, Name: name, Limit: maxShown}
	if o.all {
		q.Limit = maxAll
	}
	age, err := parseAge(o.since)
	if err == nil && age > 0 {
		q.Since = now.Add(-age)
	}
	return q, err
}

// check checks the flags together.
func (o *rowOptions) check(named bool) error {
	switch {
	case o.from == fromPostgres && !named:
		return errors.New("--from postgres requires a name")
	case o.since != "" && !named:
		return errors.New("--since requires a name")
	case o.from == fromPostgres && o.urlFile == "":
		return errors.New("--from postgres requires --history-url-file or PEQUOD_HISTORY_URL_FILE")
	case o.from != fromPostgres && o.all:
		return errors.New("--all requires --from postgres; the status has no more than is shown")
	}
	_, err := parseAge(o.since)
	return err
}

// parseAge parses the value of --since, "" is zero.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wrong := fmt.Errorf("--since %q: want a duration such as 12h or 30d", text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n == 0 {
			return 0, wrong
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return d, nil
}

// revisions returns the executions of a graph, oldest first.
func (o *historyOptions) revisions(ctx context.Context, env command.Env, owner inventory.Owner) ([]v1alpha1.Revision, error) {
	if o.rows.from == fromPostgres {
		q, err := o.rows.query(owner.Namespace, owner.Name, time.Now())
		if err != nil {
			return nil, err
		}
		store := postgres.OpenReadOnly(o.rows.urlFile)
		defer store.Close()
		stored, err := store.Revisions(ctx, q)
		revisions := make([]v1alpha1.Revision, len(stored))
		for i, r := range stored {
			revisions[i] = v1alpha1.Revision{
				Revision: r.Generation, Attempt: r.Attempt, Reason: v1alpha1.RevisionReason(r.Reason), Hash: r.Hash,
				Result: v1alpha1.GraphPhase(r.Result), FinishedAt: metav1.NewTime(r.FinishedAt), Nodes: r.Nodes, Created: r.Created,
				Updated: r.Updated, Deleted: r.Deleted, Duration: r.Duration.String(), Message: r.Message,
			}
		}
		return revisions, err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return nil, err
	}
	revisions, err := a.History(ctx, owner)
	return younger(revisions, o.rows.since, func(r v1alpha1.Revision) time.Time { return r.FinishedAt.Time }), kube.Error(err)
}

// runs returns the runs of an Action, oldest first.
func (o *historyOptions) runs(ctx context.Context, env command.Env, name string) ([]v1alpha1.ActionRevision, error) {
	if o.rows.from == fromPostgres {
		q, err := o.rows.query(o.namespace, name, time.Now())
		if err != nil {
			return nil, err
		}
		store := postgres.OpenReadOnly(o.rows.urlFile)
		defer store.Close()
		stored, err := store.Runs(ctx, q)
		runs := make([]v1alpha1.ActionRevision, len(stored))
		for i, r := range stored {
			runs[i] = v1alpha1.ActionRevision{
				Generation: r.Generation, Attempt: r.Attempt, Reason: v1alpha1.RunReason(r.Reason), Result: v1alpha1.RunState(r.Result),
				Message: r.Message, URL: r.URL, StartedAt: metav1.NewTime(r.StartedAt), FinishedAt: metav1.NewTime(r.FinishedAt),
			}
		}
		return runs, err
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return nil, err
	}
	key := inventory.Key{Group: v1alpha1.Group, Kind: "Action", Namespace: o.namespace, Name: name}
	live, err := a.Client.Get(ctx, key, v1alpha1.Version)
	switch {
	case err != nil:
		return nil, kube.Error(err)
	case live == nil:
		return nil, fmt.Errorf("%s: there is no such object", key)
	}
	action := &v1alpha1.Action{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, action); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	runs := append([]v1alpha1.ActionRevision{}, action.Status.History...)
	slices.Reverse(runs)
	return younger(runs, o.rows.since, func(r v1alpha1.ActionRevision) time.Time { return r.FinishedAt.Time }), nil
}

// younger drops the rows that ended before --since, whose value is valid.
func younger[R any](rows []R, since string, ended func(R) time.Time) []R {
	age, err := parseAge(since)
	if err != nil || age == 0 {
		return rows
	}
	return slices.DeleteFunc(rows, func(r R) bool { return ended(r).Before(time.Now().Add(-age)) })
}
