package github

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
)

func TestStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{Queued: time.Minute, Waiting: time.Minute, Running: time.Minute}, deploy())
	w.begin(t)
	for _, want := range []string{"Running  queued", "Running waits for approval in GitHub waiting", "Running  in_progress", "Succeeded  completed"} {
		o := w.observe(t)
		if got := fmt.Sprint(o.State, " ", o.Message, " ", o.Jobs[0].Status); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		w.sleep(time.Minute)
	}
	for conclusion, want := range map[string]string{
		"success": "Succeeded false ", "neutral": "Succeeded false ", "cancelled": "Cancelled false the workflow was cancelled",
		"skipped":         "Failed true the workflow was skipped: no job has run",
		"failure":         "Failed false the workflow ended with failure: job job-0",
		"timed_out":       "Failed false the workflow ended with timed_out: job job-0",
		"startup_failure": "Failed false the workflow ended with startup_failure: job job-0",
		"action_required": "Running false waits for approval in GitHub",
	} {
		f := deploy()
		f.Conclusion = conclusion
		w := newWorld(t, host.Options{}, f)
		w.begin(t)
		o := w.observe(t)
		if got := fmt.Sprint(o.State, " ", o.Permanent, " ", o.Message); got != want {
			t.Errorf("%s: %s, want %s", conclusion, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*world, *v1alpha1.GitHubWorkflow)
		want   string
		after  time.Duration
	}{
		{"token", func(_ *world, g *v1alpha1.GitHubWorkflow) { g.Auth.TokenSecretRef.Key = "wrong" }, "terminal: 401 Bad credentials", 0},
		{"no key", func(_ *world, g *v1alpha1.GitHubWorkflow) { g.Auth.TokenSecretRef.Key = "none" }, "retry: has no key none", 0},
		{"repository", func(_ *world, g *v1alpha1.GitHubWorkflow) { g.Repository = "acme/other" }, "terminal: 404 Not Found: it doesn't exist, or the credentials have no right to it", 0},
		{"ref", func(_ *world, g *v1alpha1.GitHubWorkflow) { g.Ref = "x" }, "terminal: 422 No ref found for: x", 0},
		{"inputs", func(_ *world, g *v1alpha1.GitHubWorkflow) { g.Inputs["more"] = "1" }, `terminal: 422 Unexpected inputs provided: ["more"]`, 0},
		{"primary", func(w *world, _ *v1alpha1.GitHubWorkflow) { w.SetLimit(host.Primary) }, "retry: 403 API rate limit exceeded", time.Hour},
		{"secondary", func(w *world, _ *v1alpha1.GitHubWorkflow) { w.SetLimit(host.Secondary) }, "retry: 403 You have exceeded a secondary rate limit", time.Minute},
		{"undeclared", func(w *world, _ *v1alpha1.GitHubWorkflow) { w.SetLimit(host.SecondaryUndeclared) }, "retry: 403 You have exceeded a secondary rate limit", time.Minute},
	} {
		w := newWorld(t, host.Options{}, deploy())
		c.change(w, w.run.Request.GitHubWorkflow)
		_, err := w.e.Begin(t.Context(), w.run)
		kind, message, _ := strings.Cut(c.want, ": ")
		var known *executor.Error
		if class(err) != kind || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %s: %v", c.name, class(err), err)
		}
		if errors.As(err, &known); c.after > 0 && known.After.Sub(w.clock()).Round(2*time.Second) != c.after {
			t.Errorf("%s: after %s", c.name, known.After.Sub(w.clock()))
		}
		if len(w.Runs()) != 0 {
			t.Errorf("%s: a run has begun", c.name)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{Running: time.Hour}, deploy())
	w.begin(t)
	w.run.Request.GitHubWorkflow.Repository = "acme/other"
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "terminal" {
		t.Errorf("without a right: %s: %v", class(err), err)
	}
	w.run.Request.GitHubWorkflow.Repository = host.Repository
	w.Delete(w.Runs()[0].ID)
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "gone" {
		t.Errorf("deleted: %s: %v", class(err), err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, stubborn := range []bool{false, true} {
		w := newWorld(t, host.Options{Running: time.Hour, Stubborn: stubborn}, deploy())
		w.begin(t)
		if err := w.e.Cancel(t.Context(), w.run); err != nil {
			t.Fatal(err)
		}
		w.run.CancelRequestedAt = w.clock()
		w.sleep(4 * time.Minute)
		if o := w.observe(t); stubborn != (o.State == v1alpha1.RunRunning) {
			t.Errorf("stubborn %t: %+v", stubborn, o)
		}
		forced := func() (n int) {
			for _, r := range w.Requests() {
				if strings.HasSuffix(r, "/force-cancel") {
					n++
				}
			}
			return n
		}
		if forced() != 0 {
			t.Errorf("stubborn %t: forced after 4 minutes", stubborn)
		}
		w.sleep(2 * time.Minute)
		w.observe(t)
		w.sleep(time.Second)
		if o := w.observe(t); o.State != v1alpha1.RunCancelled {
			t.Errorf("stubborn %t: %+v", stubborn, o)
		}
		if err := w.e.Cancel(t.Context(), w.run); err != nil {
			t.Errorf("after its end: %v", err)
		}
		if n := forced(); stubborn != (n == 1) {
			t.Errorf("stubborn %t: forced %d times", stubborn, n)
		}
	}
}
