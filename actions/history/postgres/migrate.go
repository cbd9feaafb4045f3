package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// files are the migrations, in the order of their names. A migration never changes after a
// release; a later one adds to it.
//
//go:embed migrations/*.sql
var files embed.FS

// lock is the number of the advisory lock of migrations: "pequod" in ASCII.
const lock = 0x7065_7175_6f64

// migrations returns the migrations, oldest first.
func migrations() ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}

// migrate executes the migrations that the database lacks, all or none. Of programs that do so
// at once, one goes ahead, and the others find nothing to do. A database that a newer version has
// migrated is left as it is.
func migrate(ctx context.Context, conn *pgx.Conn, list func() ([]string, error)) error {
	all, err := list()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The end of the transaction releases the lock.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lock)); err != nil {
			return err
		}
		const versions = `CREATE TABLE IF NOT EXISTS pequod_migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`
		if _, err := tx.Exec(ctx, versions); err != nil {
			return err
		}
		var done int
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM pequod_migrations").Scan(&done); err != nil {
			return err
		}
		for i := done; i < len(all); i++ {
			if _, err := tx.Exec(ctx, all[i]); err != nil {
				return fmt.Errorf("migration %d: %w", i+1, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO pequod_migrations (version) VALUES ($1)", i+1); err != nil {
				return err
			}
		}
		return nil
	})
}
