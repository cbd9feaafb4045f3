// Package postgres starts PostgreSQL servers for tests, from the programs of the system
// (apt-get install postgresql on Debian). A server has a directory of its own and listens on a
// Unix socket only.
//
// [Start] is the entry point of tests: without the programs, they are skipped, but fail if CI is
// true. [Create] is that of other programs.
package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server of a test.
type Server struct {
	*Database
	// URLFile is a file with the URL of the database.
	URLFile string

	t testing.TB
}

// Require skips a test without the programs, and fails it if CI is true.
func Require(t testing.TB) {
	t.Helper()
	if programs() != "" {
		return
	}
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
		t.Fatal(ErrMissing)
	}
	t.Skip(ErrMissing)
}

// Start starts an empty server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	Require(t)
	// The path of a socket must be short, which that of a test's directory isn't.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	return StartIn(t, dir)
}

// StartIn is Start with an empty directory, whose path must be short. It is removed.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	Require(t)
	d, err := createIn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // what can't be removed is in the temporary directory
	s := &Server{Database: d, URLFile: filepath.Join(t.TempDir(), "url"), t: t}
	if err := os.WriteFile(s.URLFile, []byte(s.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Run starts the server after [Database.Kill], and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	if err := s.start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Pause stops the server as a debugger does: connections are made, and get no answer. Kill ends it.
func (s *Server) Pause() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
}

// Exec executes a statement.
func (s *Server) Exec(statement string, args ...any) {
	s.t.Helper()
	s.with(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement, args...)
		return err
	})
}

// Count returns the number that a query selects.
func (s *Server) Count(query string, args ...any) (n int) {
	s.t.Helper()
	s.with(func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(&n) })
	return n
}

func (s *Server) with(do func(context.Context, *pgx.Conn) error) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.URL)
	if err == nil {
		defer conn.Close(context.WithoutCancel(s.t.Context()))
		err = do(s.t.Context(), conn)
	}
	if err != nil {
		s.t.Fatal(fmt.Errorf("PostgreSQL: %w", err))
	}
}
