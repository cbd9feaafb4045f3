package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/pequod-io/pequod/actions/history"
	"github.com/pequod-io/pequod/test/postgres"
)

// at is the end of the first revision.
var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// revision returns a row of the graph shop/web.
func revision(generation, attempt int64) history.Revision {
	return history.Revision{
		Object: history.Object{UID: "u", Namespace: "shop", Name: "web"}, Generation: generation, Attempt: attempt,
		Hash: "sha256:a", Reason: "Spec", Result: "Completed", Message: "2 objects are ready", Nodes: 2, Created: 2, Updated: 1, Deleted: 3,
		Duration: 1500 * time.Millisecond, FinishedAt: at.Add(time.Duration(generation)*time.Hour + time.Duration(attempt)*time.Minute),
	}
}

// TestStore writes rows twice and reads them: each is there once.
func TestStore(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	s := Open(server.URLFile)
	defer s.Close()
	ctx := t.Context()
	if _, found, err := s.LastRevision(ctx, "u"); found || err != nil {
		t.Errorf("an empty table has a last row, or %v", err)
	}
	rows := []history.Revision{revision(1, 1), revision(2, 1), revision(2, 2)}
	for _, want := range []int{3, 0} {
		if n, err := s.WriteRevisions(ctx, rows); n != want || err != nil {
			t.Errorf("%d new rows, want %d: %v", n, want, err)
		}
	}
	got, err := s.Revisions(ctx, Query{Namespace: "shop", Name: "web", Limit: 10})
	if diff := cmp.Diff(rows, got); diff != "" || err != nil {
		t.Errorf("revisions (-want +got): %v\n%s", err, diff)
	}
	got, err = s.Revisions(ctx, Query{Namespace: "shop", Name: "web", Since: at.Add(2 * time.Hour), Limit: 1})
	if diff := cmp.Diff(rows[2:], got); diff != "" || err != nil {
		t.Errorf("the newest revision (-want +got): %v\n%s", err, diff)
	}
	s.unread.N = 1 // it has read much
	if m, _, err := s.LastRevision(ctx, "u"); m != (history.Mark{Generation: 2, Attempt: 2}) || err != nil {
		t.Errorf("the last is %+v: %v", m, err)
	}
	run := history.Run{
		Object: history.Object{UID: "a", Namespace: "shop", Name: "db"}, Generation: 1, Attempt: 7, Reason: "Retry", Result: "Failed",
		Message: "no", URL: "https://example.com/7", StartedAt: at, FinishedAt: at.Add(time.Minute),
	}
	if n, err := s.WriteRuns(ctx, []history.Run{run, run}); n != 1 || err != nil {
		t.Errorf("%d runs: %v", n, err)
	}
	runs, err := s.Runs(ctx, Query{Namespace: "shop", Name: "db", Limit: 10})
	if diff := cmp.Diff([]history.Run{run}, runs); diff != "" || err != nil {
		t.Errorf("runs (-want +got): %v\n%s", err, diff)
	}
	event := history.Event{UID: "e", Kind: "Action", Object: run.Object, Type: "Warning", Reason: "Failed", Message: "no", Count: 1, FirstAt: at, LastAt: at}
	for _, step := range []struct{ count, want int }{{1, 1}, {5, 1}, {5, 0}, {3, 0}} {
		event.Count = step.count
		if n, err := s.WriteEvents(ctx, []history.Event{event}); n != step.want || err != nil {
			t.Errorf("count %d: %d events: %v", step.count, n, err)
		}
	}
	if n := server.Count("SELECT count FROM events"); n != 5 {
		t.Errorf("the Event was counted %d times", n)
	}
	if n, err := s.Prune(ctx, at.Add(2*time.Hour+90*time.Second)); n != 4 || err != nil { // two revisions, the run and the Event
		t.Errorf("%d rows were pruned: %v", n, err)
	}
	if n := server.Count("SELECT count(*) FROM revisions"); n != 1 {
		t.Errorf("%d revisions are left", n)
	}
}

// TestMigrations migrates a database from each version, with two programs at once.
func TestMigrations(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	all, err := migrations()
	if err != nil || len(all) < 2 {
		t.Fatalf("%d migrations: %v", len(all), err)
	}
	for from := range len(all) + 1 {
		t.Run(fmt.Sprint("from version ", from), func(t *testing.T) {
			database := fmt.Sprint("from", from)
			server.Exec("CREATE DATABASE " + database)
			url := strings.Replace(server.URL, "/postgres?", "/"+database+"?", 1)
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(t.Context()))
			older := func() ([]string, error) { return all[:from], nil }
			if err := migrate(t.Context(), conn, older); err != nil {
				t.Fatal(err)
			}
			if from > 0 {
				if _, err := conn.Exec(t.Context(), `INSERT INTO runs VALUES ('a', 1, 1, 'shop', 'db', 'Spec', 'Succeeded', '', '', now(), now())`); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(t.TempDir(), "url")
			if err := os.WriteFile(file, []byte(url), 0o600); err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					s := Open(file)
					defer s.Close()
					if _, err := s.WriteRevisions(t.Context(), []history.Revision{revision(1, 1)}); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			var version, revisions, runs int
			if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pequod_migrations), (SELECT count(*) FROM revisions),
				(SELECT count(*) FROM runs)`).Scan(&version, &revisions, &runs); err != nil {
				t.Fatal(err)
			}
			if version != len(all) || revisions != 1 || runs != min(from, 1) {
				t.Errorf("version %d, %d revisions, %d runs", version, revisions, runs)
			}
			// An older program leaves it as it is.
			if err := migrate(t.Context(), conn, older); err != nil {
				t.Errorf("an older program: %v", err)
			}
		})
	}
}

// TestKill kills the server while rows are inserted. Each row that was reported as stored is
// there once, and so are the others after they were written again.
func TestKill(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	s := Open(server.URLFile)
	defer s.Close()
	var stored, failed []history.Revision
	written := make(chan int, 10000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := int64(1); len(failed) == 0; i++ {
			rows := []history.Revision{revision(i, 1), revision(i, 2), revision(i, 3)}
			if _, err := s.WriteRevisions(t.Context(), rows); err != nil {
				failed = rows
				return
			}
			stored = append(stored, rows...)
			select {
			case written <- 1:
			default:
			}
		}
	}()
	for range 20 {
		<-written
	}
	server.Kill()
	<-done
	if _, err := s.WriteRevisions(t.Context(), failed); err == nil || strings.Contains(err.Error(), postgres.Password) {
		t.Errorf("while the server is away: %v", err)
	}
	server.Run()
	for _, r := range stored {
		if n := server.Count("SELECT count(*) FROM revisions WHERE generation = $1 AND attempt = $2", r.Generation, r.Attempt); n != 1 {
			t.Fatalf("%d rows of revision %d, attempt %d", n, r.Generation, r.Attempt)
		}
	}
	if _, err := s.WriteRevisions(t.Context(), append(stored, failed...)); err != nil {
		t.Fatal(err)
	}
	if n := server.Count("SELECT count(*) FROM revisions"); n != len(stored)+len(failed) {
		t.Errorf("%d rows, want %d", n, len(stored)+len(failed))
	}
}

// TestErrors checks that errors have no password.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"postgres://user:" + postgres.Password + "@localhost:notaport/db",
		"postgres://user:" + postgres.Password + "%zz@localhost/db",
		"postgres://user:" + postgres.Password + "@127.0.0.1:1/db?sslmode=sometimes",
		"postgres://user:" + postgres.Password + "@127.0.0.1:1/db",
		"postgres://user:" + postgres.Password + "@/db?host=/" + postgres.Password,
		"host=localhost password=" + postgres.Password,
		"",
	} {
		file := filepath.Join(t.TempDir(), "url")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Open(file)
		_, err := s.WriteRevisions(t.Context(), []history.Revision{revision(1, 1)})
		if err == nil || strings.Contains(err.Error(), postgres.Password) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", content, err)
		}
	}
	if err := CheckURL(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that doesn't exist was accepted")
	}
}
