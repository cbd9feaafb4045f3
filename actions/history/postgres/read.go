package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pequod-io/pequod/actions/history"
)

// LastRevision returns the place of the last stored revision of a graph, if there is one.
func (s *Store) LastRevision(ctx context.Context, uid string) (history.Mark, bool, error) {
	return s.last(ctx, "SELECT generation, attempt FROM revisions WHERE uid = $1 ORDER BY generation DESC, attempt DESC LIMIT 1", uid)
}

// LastRun returns the place of the last stored run of an Action, if there is one.
func (s *Store) LastRun(ctx context.Context, uid string) (history.Mark, bool, error) {
	return s.last(ctx, "SELECT generation, attempt FROM runs WHERE uid = $1 ORDER BY generation DESC, attempt DESC LIMIT 1", uid)
}

func (s *Store) last(ctx context.Context, query, uid string) (m history.Mark, found bool, err error) {
	err = s.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		err := conn.QueryRow(ctx, query, uid).Scan(&m.Generation, &m.Attempt)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	return m, found, err
}

// Query selects rows.
type Query struct {
	Namespace, Name string
	// Since is the time after which the rows ended; zero means all.
	Since time.Time
	// Limit is the number of rows, the newest ones.
	Limit int
}

// Revisions returns revisions, oldest first. Objects of the same name that were deleted are
// included.
func (s *Store) Revisions(ctx context.Context, q Query) ([]history.Revision, error) {
	const query = `SELECT uid, namespace, name, generation, attempt, hash, reason, result, message, nodes, created, updated, deleted, duration_ms, finished_at
FROM revisions WHERE namespace = $1 AND name = $2 AND finished_at >= $3 ORDER BY finished_at DESC, generation DESC, attempt DESC LIMIT $4`
	return selected(ctx, s, query, q, func(rows pgx.CollectableRow) (r history.Revision, err error) {
		var ms int64
		err = rows.Scan(&r.UID, &r.Namespace, &r.Name, &r.Generation, &r.Attempt, &r.Hash, &r.Reason, &r.Result, &r.Message,
			&r.Nodes, &r.Created, &r.Updated, &r.Deleted, &ms, &r.FinishedAt)
		r.Duration, r.FinishedAt = time.Duration(ms)*time.Millisecond, r.FinishedAt.UTC()
		return r, err
	})
}

// Runs returns runs, oldest first.
func (s *Store) Runs(ctx context.Context, q Query) ([]history.Run, error) {
	const query = `SELECT uid, namespace, name, generation, attempt, reason, result, message, url, started_at, finished_at
FROM runs WHERE namespace = $1 AND name = $2 AND finished_at >= $3 ORDER BY finished_at DESC, generation DESC, attempt DESC LIMIT $4`
	return selected(ctx, s, query, q, func(rows pgx.CollectableRow) (r history.Run, err error) {
		err = rows.Scan(&r.UID, &r.Namespace, &r.Name, &r.Generation, &r.Attempt, &r.Reason, &r.Result, &r.Message, &r.URL,
			&r.StartedAt, &r.FinishedAt)
		r.StartedAt, r.FinishedAt = r.StartedAt.UTC(), r.FinishedAt.UTC()
		return r, err
	})
}

// selected returns the rows of a query, which selects the newest first, oldest first.
func selected[R any](ctx context.Context, s *Store, query string, q Query, scan pgx.RowToFunc[R]) (all []R, err error) {
	err = s.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, query, q.Namespace, q.Name, q.Since, q.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scan)
		return err
	})
	slices.Reverse(all)
	return all, err
}
