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

	"github.com/pequod-io/pequod/actions/history"
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
	q := postgres.Query{Namespace: namespace, Name: name, Limit: maxShown + 1} // one more shows that there are more
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

// revision is a finished execution, and run a finished run. UID is that of the object, and only known
// of rows of the database, where objects that were created again have rows of their own.
type (
	revision struct {
		v1alpha1.Revision

		UID string `json:"uid,omitempty"`
	}
	run struct {
		v1alpha1.ActionRevision

		UID string `json:"uid,omitempty"`
	}
)

// revisions returns the executions of a graph, oldest first.
func (o *historyOptions) revisions(ctx context.Context, env command.Env, owner inventory.Owner) ([]revision, error) {
	if o.rows.from == fromPostgres {
		return selected(env, &o.rows, owner.Namespace, owner.Name, func(s *postgres.Store, q postgres.Query) ([]history.Revision, error) {
			return s.Revisions(ctx, q)
		}, func(r history.Revision) (string, revision) {
			return r.UID, revision{v1alpha1.Revision{
				Revision: r.Generation, Attempt: r.Attempt, Reason: v1alpha1.RevisionReason(r.Reason), Hash: r.Hash,
				Result: v1alpha1.GraphPhase(r.Result), FinishedAt: metav1.NewTime(r.FinishedAt), Nodes: r.Nodes, Created: r.Created,
				Updated: r.Updated, Deleted: r.Deleted, Duration: r.Duration.String(), Message: r.Message,
			}, r.UID}
		})
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return nil, err
	}
	revisions, err := a.History(ctx, owner)
	all := []revision{}
	for _, r := range younger(revisions, o.rows.since, func(r v1alpha1.Revision) time.Time { return r.FinishedAt.Time }) {
		all = append(all, revision{Revision: r})
	}
	return all, kube.Error(err)
}

// runs returns the runs of an Action, oldest first.
func (o *historyOptions) runs(ctx context.Context, env command.Env, name string) ([]run, error) {
	if o.rows.from == fromPostgres {
		return selected(env, &o.rows, o.namespace, name, func(s *postgres.Store, q postgres.Query) ([]history.Run, error) {
			return s.Runs(ctx, q)
		}, func(r history.Run) (string, run) {
			return r.UID, run{v1alpha1.ActionRevision{
				Generation: r.Generation, Attempt: r.Attempt, Reason: v1alpha1.RunReason(r.Reason), Result: v1alpha1.RunState(r.Result),
				Message: r.Message, URL: r.URL, StartedAt: metav1.NewTime(r.StartedAt), FinishedAt: metav1.NewTime(r.FinishedAt),
			}, r.UID}
		})
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
	runs := slices.Clone(action.Status.History)
	slices.Reverse(runs)
	all := []run{}
	for _, r := range younger(runs, o.rows.since, func(r v1alpha1.ActionRevision) time.Time { return r.FinishedAt.Time }) {
		all = append(all, run{ActionRevision: r})
	}
	return all, nil
}

// selected reads the rows of a name from the database, oldest first. It tells on stderr if there are older
// ones, and if the rows are of several objects.
func selected[S, R any](env command.Env, o *rowOptions, namespace, name string, read func(*postgres.Store, postgres.Query) ([]S, error), convert func(S) (string, R)) ([]R, error) {
	q, err := o.query(namespace, name, time.Now())
	if err != nil {
		return nil, err
	}
	store := postgres.OpenReadOnly(o.urlFile)
	defer store.Close()
	stored, err := read(store, q)
	if err != nil {
		return nil, err
	}
	if !o.all && len(stored) > maxShown {
		stored = stored[len(stored)-maxShown:]
		fmt.Fprintf(env.Err, "pequod: the newest %d entries are shown; --all shows the older ones, too\n", maxShown)
	}
	all, uids := []R{}, map[string]bool{}
	for _, s := range stored {
		uid, r := convert(s)
		all, uids[uid] = append(all, r), true
	}
	if len(uids) > 1 {
		fmt.Fprintf(env.Err, "pequod: the entries are of %d objects, which had this name one after the other; -o wide has their UIDs\n", len(uids))
	}
	return all, nil
}

// younger drops the rows that ended before --since, whose value is valid.
func younger[R any](rows []R, since string, ended func(R) time.Time) []R {
	age, err := parseAge(since)
	if err != nil || age == 0 {
		return rows
	}
	return slices.DeleteFunc(rows, func(r R) bool { return ended(r).Before(time.Now().Add(-age)) })
}
