package run

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/history"
	"github.com/pequod-io/pequod/actions/history/postgres"
	"github.com/pequod-io/pequod/cli/command"
	server "github.com/pequod-io/pequod/test/postgres"
)

// TestHistoryFromPostgres prints what the database has, without a cluster.
func TestHistoryFromPostgres(t *testing.T) {
	t.Setenv("KUBECONFIG", "/none")
	s := server.Start(t)
	read := func(args ...string) (string, error) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := newHistoryCommand(command.Env{Out: &out, Err: &errs})
		cmd.SetArgs(append(args, "-n", "shop", "--from", "postgres", "--history-url-file", s.URLFile))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		return out.String() + errs.String(), err
	}
	if _, err := read("web"); err == nil || !strings.Contains(err.Error(), `relation "revisions" does not exist (SQLSTATE 42P01); pequod-actions creates the tables`) || strings.Contains(err.Error(), server.Password) {
		t.Errorf("without tables: %v", err)
	}
	store := postgres.Open(s.URLFile)
	defer store.Close()
	now := time.Now().UTC()
	object := history.Object{UID: "u", Namespace: "shop", Name: "web"}
	var rows []history.Revision
	for i := range int64(60) {
		rows = append(rows, history.Revision{
			Object: object, Generation: i + 1, Attempt: 1, Hash: "h", Reason: "Spec", Result: "Completed", Message: "m", Created: 1,
			Duration: 1500 * time.Millisecond, FinishedAt: now.AddDate(0, 0, int(i)-60),
		})
	}
	if _, err := store.WriteRevisions(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	run := history.Run{Object: object, Generation: 2, Attempt: 3, Reason: "Retry", Result: "Failed", Message: "no", URL: "https://example.com/3", StartedAt: at, FinishedAt: at.Add(90 * time.Second)}
	if _, err := store.WriteRuns(t.Context(), []history.Run{run}); err != nil {
		t.Fatal(err)
	}
	for args, lines := range map[string]int{"web": 52, "web --all": 61, "web --since 10d --all": 10, "rg/web --since 12h": 1} {
		out, err := read(strings.Fields(args)...)
		if got := strings.Count(out, "\n"); got != lines || err != nil {
			t.Errorf("%s: %d lines, want %d: %v\n%s", args, got, lines, err, out)
		}
	}
	out, err := read("action/web", "-o", "wide")
	want := `RUN   GENERATION   FINISHED               RESULT   REASON   DURATION   MESSAGE   URL                     UID
3     2            2026-03-01T12:01:30Z   Failed   Retry    1m30s      no        https://example.com/3   u
`
	if out != want || err != nil {
		t.Errorf("runs: %v\n%s", err, out)
	}
	if out, err = read("web", "--since", "10d", "-o", "jsonpath={.revisions[0].revision} {.revisions[0].duration}"); out != "52 1.5s" || err != nil {
		t.Errorf("template: %v\n%s", err, out)
	}
	if out, err = read("web"); !strings.HasSuffix(out, "pequod: the newest 50 entries are shown; --all shows the older ones, too\n") || err != nil {
		t.Errorf("more rows than are shown: %v\n%s", err, out)
	}
	// The graph was deleted, and created again.
	again := rows[59]
	again.UID, again.Generation, again.FinishedAt = "v", 1, now
	if _, err := store.WriteRevisions(t.Context(), []history.Revision{again}); err != nil {
		t.Fatal(err)
	}
	const note = "pequod: the entries are of 2 objects, which had this name one after the other; -o wide has their UIDs\n"
	if out, err = read("web", "--since", "36h", "-o", "wide"); !strings.Contains(out, " HASH   UID\n") || strings.Count(out, "   u\n") != 1 || strings.Count(out, "   v\n") != 1 || !strings.HasSuffix(out, note) || err != nil {
		t.Errorf("two graphs of one name: %v\n%s", err, out)
	}
	if out, err = read("web", "--since", "12h", "-o", "json"); !strings.Contains(out, `"uid": "v"`) || err != nil {
		t.Errorf("the UID in JSON: %v\n%s", err, out)
	}
	if out, err = read("other"); out != "pequod: graph shop/other: no execution has finished, or none is in the selected history\n" || err != nil {
		t.Errorf("no rows: %v\n%s", err, out)
	}
}

// TestParseAge checks the values of --since.
func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "30d": 720 * time.Hour, "90m": 90 * time.Minute} {
		if got, err := parseAge(text); got != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"d", "0d", "-1d", "1.5d", "-1h", "0s", "soon"} {
		if _, err := parseAge(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
