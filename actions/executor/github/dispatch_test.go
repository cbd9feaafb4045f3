package github

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
)

func TestDispatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     host.Mode
		keyInput string
		id       string
		class    string
		begun    int // runs
		again    int // requests of two dispatches
	}{
		{host.Details, "key", "1003", "<nil>", 1, 2},
		{host.Details, "", "1003", "<nil>", 1, 2},
		{host.NoDetails, "key", "", "<nil>", 1, 2},
		{host.NoDetails, "", "", "lost", 1, 1}, // the second one is refused
		{host.Old, "key", "", "<nil>", 1, 3},
		{host.Old, "", "", "terminal", 0, 2},
	} {
		w := newWorld(t, host.Options{Mode: c.mode, Foreign: 2, Prefix: "/api/v3"}, deploy())
		w.run.Request.GitHubWorkflow.KeyInput = c.keyInput
		o, err := w.e.Begin(t.Context(), w.run)
		if class(err) != c.class || err == nil && o.ID != c.id || len(w.Runs()) != c.begun {
			t.Errorf("%+v: %+v, %v, %d runs", c, o, err, len(w.Runs()))
		}
		_, _ = w.e.Begin(t.Context(), w.run) // only the requests count
		if got := w.posts(); got != c.again {
			t.Errorf("%+v: %d requests", c, got)
		}
		if c.begun > 0 {
			want := map[string]string{"size": "500"}
			if c.keyInput != "" {
				want[c.keyInput] = runKey
			}
			if diff := cmp.Diff(want, w.Runs()[0].Inputs); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, mode := range []host.Mode{host.Details, host.NoDetails, host.Old} {
		w := newWorld(t, host.Options{Mode: mode, Foreign: 150, Unlisted: 4 * time.Second, Running: time.Hour}, deploy())
		find := func(want string) *executor.Observation {
			t.Helper()
			o, err := w.e.Find(t.Context(), w.run)
			if got := fmt.Sprint(o != nil, " ", class(err)); got != want {
				t.Errorf("mode %d: found %s, want %s", mode, got, want)
			}
			return o
		}
		w.run.Fresh = true
		find("false <nil>")
		w.run.Fresh = false
		find("false later") // it may be listed later
		w.sleep(31 * time.Second)
		find("false <nil>") // it would be listed
		w.run.Since = w.clock()
		o := w.begin(t)
		w.run.ID = ""
		find("false later")
		w.sleep(5 * time.Second)
		if found := find("true <nil>"); found.ID != "1151" || o.ID != "" && found.ID != o.ID {
			t.Errorf("mode %d: found %s", mode, found.ID)
		}
		if found := w.observe(t); found.ID != "1151" || found.URL != "https://github.com/acme/infra/actions/runs/1151" {
			t.Errorf("mode %d: observed %+v", mode, found)
		}
		w.run.Request.GitHubWorkflow.KeyInput = ""
		find("false lost")
	}
}

func TestNameless(t *testing.T) {
	t.Parallel()
	f := deploy()
	f.Title = "deploy"
	w := newWorld(t, host.Options{Mode: host.Old}, f)
	w.begin(t)
	if o := w.observe(t); o.ID != "" || o.Message != "the run is not in the list of runs yet" {
		t.Errorf("observed %+v", o)
	}
	if err := w.e.Cancel(t.Context(), w.run); class(err) != "retry" {
		t.Errorf("cancelled: %v", err)
	}
	w.sleep(11 * time.Minute)
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "gone" || !strings.Contains(err.Error(), "run-name must have ${{ inputs.key }}") {
		t.Errorf("observed: %v", err)
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	for keyInput, want := range map[string]string{"key": "unknown", "": "lost"} {
		w := newWorld(t, host.Options{Before: func() bool { return false }}, deploy())
		w.run.Request.GitHubWorkflow.KeyInput = keyInput
		if _, err := w.e.Begin(t.Context(), w.run); class(err) != want {
			t.Errorf("keyInput %q: %s: %v", keyInput, class(err), err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{}, deploy())
	full := w.run.Request
	if found := w.e.Check(full); len(found) != 0 {
		t.Errorf("complete: %v", found)
	}
	check := v1alpha1.ActionExecutor{GitHubWorkflow: &v1alpha1.GitHubWorkflow{Workflow: "plan.yaml"}}
	// The order is always the same: the errors are a message in the status, and each other one
	// would be a write of it.
	for range 20 {
		if found := fmt.Sprint(w.e.Check(check)); found != "[githubWorkflow.repository is required githubWorkflow.ref is required githubWorkflow.auth is required]" {
			t.Errorf("alone: %s", found)
		}
	}
	taken := check.For(full)
	if found := w.e.Check(taken); len(found) != 0 || taken.GitHubWorkflow.Workflow != "plan.yaml" || taken.GitHubWorkflow.Inputs["size"] != "500" {
		t.Errorf("taken over: %v %+v", found, taken.GitHubWorkflow)
	}
	many := map[string]v1alpha1.RunnerInput{"key": "x"}
	for i := range 24 {
		many[fmt.Sprint("i", i)] = ""
	}
	full.GitHubWorkflow.Inputs = many
	if found := fmt.Sprint(w.e.Check(full)); !strings.Contains(found, "at most 25 inputs") || !strings.Contains(found, "has the input keyInput") {
		t.Errorf("many: %s", found)
	}
}
