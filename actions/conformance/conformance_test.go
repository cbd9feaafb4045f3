package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/test/hosts/executor"
)

// failures returns the checks that a server fails, and the number of results.
func failures(t *testing.T, s *executor.Server) (failed []string, results int) {
	t.Helper()
	host := httptest.NewServer(s)
	defer host.Close()
	err := Run(t.Context(), Options{URL: host.URL + "/", Token: s.Token, Timeout: 20 * time.Second, Poll: time.Millisecond}, func(r Result) {
		results++
		if r.Err != nil {
			failed = append(failed, r.Check+": "+r.Err.Error())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return failed, results
}

// TestRight checks that a server that honours the protocol passes, with and without a token.
func TestRight(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "s3cret"} {
		s := executor.New()
		s.Token = token
		if failed, results := failures(t, s); len(failed) > 0 || results != len(checks) {
			t.Errorf("%d results, failed: %q", results, failed)
		}
		// One run for each of first, concurrent, planned, cancelled and destroy.
		if s.Begun() != 5 {
			t.Errorf("%d runs", s.Begun())
		}
	}
}

// TestWrong checks that each fault is found, and by which checks.
func TestWrong(t *testing.T) {
	t.Parallel()
	for fault, want := range map[executor.Fault][]string{
		executor.Twice:       {checks[7].name, checks[8].name, checks[9].name},
		executor.Late:        {checks[4].name},
		executor.Open:        {checks[1].name, checks[2].name},
		executor.Lenient:     {checks[3].name},
		executor.Strict:      {checks[4].name},
		executor.Hasty:       {checks[10].name},
		executor.NoDigest:    {checks[10].name},
		executor.AnyDigest:   {checks[11].name},
		executor.Endless:     {checks[13].name},
		executor.Words:       {checks[4].name},
		executor.List:        {checks[5].name, checks[12].name},
		executor.Forgetful:   {checks[0].name, checks[1].name, checks[2].name, checks[3].name},
		executor.NoDestroy:   {checks[14].name},
		executor.Unclosed:    {checks[9].name},
		executor.Unparseable: {checks[4].name},
		executor.Restless:    {checks[6].name, checks[7].name},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := executor.New()
			s.Token, s.Fault = "s3cret", fault
			failed, _ := failures(t, s)
			var names []string
			for _, f := range failed {
				i := slices.IndexFunc(checks, func(c check) bool { return len(f) > len(c.name) && f[:len(c.name)+2] == c.name+": " })
				names = append(names, checks[i].name)
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("%s\n%q", diff, failed)
			}
		})
	}
}

// TestLong checks that results quote only the beginning of what a server says.
func TestLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 10000)
	for _, answer := range []string{`{"phase": "Failed", "message": "` + long + `"}`, `{"phase": "` + long + `"}`, long} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		defer host.Close()
		err := Run(t.Context(), Options{URL: host.URL, Timeout: time.Minute, Poll: time.Millisecond}, func(r Result) {
			if r.Err != nil && len(r.Err.Error()) > 500 {
				t.Errorf("%s: %d bytes: %.100s", r.Check, len(r.Err.Error()), r.Err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreachable checks the error of a server that doesn't answer.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(executor.New())
	host.Close()
	if err := Run(t.Context(), Options{URL: host.URL}, func(Result) { t.Error("a result") }); err == nil {
		t.Error("no error")
	}
}
