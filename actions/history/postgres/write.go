package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pequod-io/pequod/actions/history"
)

const insertRevision = `INSERT INTO revisions
(uid, generation, attempt, namespace, name, hash, reason, result, message, nodes, created, updated, deleted, duration_ms, finished_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING`

// WriteRevisions stores rows, all or none, and returns how many were new.
func (s *Store) WriteRevisions(ctx context.Context, rows []history.Revision) (int, error) {
	var b pgx.Batch
	for _, r := range rows {
		b.Queue(insertRevision, r.UID, r.Generation, r.Attempt, r.Namespace, r.Name, r.Hash, r.Reason, r.Result, r.Message,
			r.Nodes, r.Created, r.Updated, r.Deleted, r.Duration.Milliseconds(), r.FinishedAt)
	}
	return s.send(ctx, &b)
}

const insertRun = `INSERT INTO runs
(uid, generation, attempt, namespace, name, reason, result, message, url, started_at, finished_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`

// WriteRuns stores rows, all or none, and returns how many were new.
func (s *Store) WriteRuns(ctx context.Context, rows []history.Run) (int, error) {
	var b pgx.Batch
	for _, r := range rows {
		b.Queue(insertRun, r.UID, r.Generation, r.Attempt, r.Namespace, r.Name, r.Reason, r.Result, r.Message, r.URL, r.StartedAt, r.FinishedAt)
	}
	return s.send(ctx, &b)
}

const insertEvent = `INSERT INTO events
(uid, kind, object_uid, namespace, name, type, reason, action, message, count, first_at, last_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (uid) DO UPDATE SET count = excluded.count, last_at = excluded.last_at WHERE events.count < excluded.count`

// WriteEvents stores rows, all or none, and returns how many were new or have another count.
func (s *Store) WriteEvents(ctx context.Context, rows []history.Event) (int, error) {
	var b pgx.Batch
	for _, r := range rows {
		b.Queue(insertEvent, r.UID, r.Kind, r.Object.UID, r.Object.Namespace, r.Object.Name, r.Type, r.Reason, r.Action, r.Message,
			r.Count, r.FirstAt, r.LastAt)
	}
	return s.send(ctx, &b)
}

// send executes a batch in a transaction, and returns the number of rows that it has changed.
func (s *Store) send(ctx context.Context, b *pgx.Batch) (changed int, err error) {
	err = s.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		changed = 0
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			results := tx.SendBatch(ctx, b)
			for range b.Len() {
				tag, err := results.Exec()
				if err != nil {
					_ = results.Close() // the same error
					return err
				}
				changed += int(tag.RowsAffected())
			}
			return results.Close()
		})
	})
	return changed, err
}

// pruned is the number of rows that one statement of Prune deletes at most, so that it never
// holds locks for long.
const pruned = 5000

// Prune deletes rows that ended before a time, and returns how many.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	total := 0
	for _, statement := range []string{
		"DELETE FROM revisions WHERE ctid = ANY (ARRAY(SELECT ctid FROM revisions WHERE finished_at < $1 LIMIT $2))",
		"DELETE FROM runs WHERE ctid = ANY (ARRAY(SELECT ctid FROM runs WHERE finished_at < $1 LIMIT $2))",
		"DELETE FROM events WHERE ctid = ANY (ARRAY(SELECT ctid FROM events WHERE last_at < $1 LIMIT $2))",
	} {
		for deleted := pruned; deleted == pruned; total += deleted {
			err := s.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
				tag, err := conn.Exec(ctx, statement, before, pruned)
				deleted = int(tag.RowsAffected())
				return err
			})
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}
