package gitlab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/gitlab"
)

// secrets are the keys of one Secret.
type secrets map[string][]byte

func (s secrets) Secret(context.Context, string, string, string) (map[string][]byte, error) {
	return s, nil
}

// world is an executor with its server, which have the same clock.
type world struct {
	*host.Server
	e   *Executor
	mu  sync.Mutex
	now time.Time
	run executor.Run
}

// sleep sets the clock.
func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

const runKey = "5f0c1d2e3b4a59687786a5b4c3d2e1f0"

func ref(key string) *v1alpha1.SecretKeyRef { return &v1alpha1.SecretKeyRef{Name: "gitlab", Key: key} }

func newWorld(t *testing.T, o host.Options) *world {
	t.Helper()
	x := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.Now = x.clock
	x.Server = host.New(t, o)
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	x.e = New(executor.Server{Client: egress.New(egress.Options{Allowed: allowed}), Secrets: secrets{
		"token": []byte(host.Token), "reader": []byte(host.Reader), "trigger": []byte(host.Trigger), "wrong": []byte("wr0ng-token"),
	}})
	x.e.now = x.clock
	x.run = executor.Run{Namespace: "shop", Name: "db", Account: "runner", Key: runKey, IntentAt: x.now, Since: x.now, Request: v1alpha1.ActionExecutor{
		GitLabPipeline: &v1alpha1.GitLabPipeline{
			Server: x.URL + o.Prefix, Project: host.Project, Ref: "main", Variables: map[string]v1alpha1.RunnerInput{"SIZE": "500"},
			Inputs: &runtime.RawExtension{Raw: []byte(`{"replicas": 3}`)}, Auth: &v1alpha1.GitLabAuth{TokenSecretRef: ref("token")},
		},
	}}
	return x
}

// begin begins the run, and records its ID.
func (w *world) begin(t *testing.T) *executor.Observation {
	t.Helper()
	o, err := w.e.Begin(t.Context(), w.run)
	if err != nil {
		t.Fatal(err)
	}
	w.run.ID = o.ID
	return o
}

// observe looks at the run.
func (w *world) observe(t *testing.T) *executor.Observation {
	t.Helper()
	o, err := w.e.Observe(t.Context(), w.run)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func class(err error) string {
	var known *executor.Error
	if !errors.As(err, &known) {
		return fmt.Sprint(err)
	}
	return []string{"unknown", "retry", "terminal", "lost", "later", "gone"}[known.Class]
}

// TestCreate creates pipelines with an access token and with a trigger token.
func TestCreate(t *testing.T) {
	t.Parallel()
	for source, auth := range map[string]*v1alpha1.GitLabAuth{
		"api":     {TokenSecretRef: ref("token")},
		"trigger": {TokenSecretRef: ref("reader"), TriggerTokenSecretRef: ref("trigger")},
	} {
		w := newWorld(t, host.Options{Prefix: "/gitlab"})
		w.run.Request.GitLabPipeline.Auth = auth
		o := w.begin(t)
		if o.ID != "101" || o.URL != "https://gitlab.com/acme/platform/infra/-/pipelines/101" {
			t.Errorf("%s: %+v", source, o)
		}
		p := w.Pipelines()[0]
		want := host.Pipeline{ID: 101, Source: source, Ref: "main", Variables: map[string]string{"SIZE": "500", "PEQUOD_RUN": runKey}, Inputs: map[string]any{"replicas": 3.0}}
		if diff := cmp.Diff(want, p, cmp.FilterPath(func(p cmp.Path) bool { return strings.HasPrefix(p.String(), "c") }, cmp.Ignore())); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
		for _, r := range w.Requests() {
			if !strings.Contains(r, "/gitlab/api/v4/projects/acme%2Fplatform%2Finfra/") {
				t.Errorf("%s: request %s", source, r)
			}
		}
		if o := w.observe(t); o.State != v1alpha1.RunSucceeded {
			t.Errorf("%s: %+v", source, o)
		}
	}
}

// TestFind looks for pipelines that may have been created, among those of others, by a variable and
// by a name.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, token, variable string
		trigger               bool
		found                 string
	}{
		{"", "token", "", false, "true <nil>"},
		{"", "token", "RUN", true, "true <nil>"},
		{"", "reader", "", true, "false terminal"},            // it can't read variables
		{"run $PEQUOD_RUN", "reader", "", true, "true <nil>"}, // but names
	} {
		w := newWorld(t, host.Options{Foreign: 5, Name: c.name, Stages: []string{"running"}, Stage: time.Hour})
		g := w.run.Request.GitLabPipeline
		g.Auth, g.KeyVariable = &v1alpha1.GitLabAuth{TokenSecretRef: ref(c.token)}, c.variable
		if c.trigger {
			g.Auth.TriggerTokenSecretRef = ref("trigger")
		}
		find := func(want string) *executor.Observation {
			t.Helper()
			o, err := w.e.Find(t.Context(), w.run)
			if got := fmt.Sprint(o != nil, " ", class(err)); got != want {
				t.Errorf("%+v: found %s, want %s: %v", c, got, want, err)
			}
			return o
		}
		w.run.Fresh = true
		find("false <nil>")
		w.run.Fresh = false
		find("false later") // the server may still work at the request
		w.sleep(31 * time.Second)
		find("false <nil>")
		o := w.begin(t)
		if found := find(c.found); found != nil && found.ID != o.ID {
			t.Errorf("%+v: found %s, not %s", c, found.ID, o.ID)
		}
	}
	w := newWorld(t, host.Options{})
	w.run.Request.GitLabPipeline.Auth = &v1alpha1.GitLabAuth{TriggerTokenSecretRef: ref("trigger")}
	if _, err := w.e.Find(t.Context(), w.run); class(err) != "lost" {
		t.Errorf("without a token that reads: %v", err)
	}
}

// TestStates follows a pipeline, and takes each state at its end.
func TestStates(t *testing.T) {
	t.Parallel()
	stages := []string{"created", "waiting_for_resource", "preparing", "pending", "running", "manual", "scheduled", "canceling"}
	w := newWorld(t, host.Options{Stages: stages, Stage: time.Minute})
	w.begin(t)
	for i, stage := range append(stages, "success") {
		o := w.observe(t)
		want := map[string]string{
			"waiting_for_resource": "Running waits for a resource in GitLab", "manual": "Running waits for a manual job in GitLab",
			"scheduled": "Running waits for a delayed job in GitLab", "success": "Succeeded ",
		}[stage]
		if want == "" {
			want = "Running "
		}
		if got := fmt.Sprint(o.State, " ", o.Message); got != want || o.Jobs[0].Status != stage {
			t.Errorf("%d: %s: %s, want %s", i, stage, got, want)
		}
		w.sleep(time.Minute)
	}
	for end, want := range map[string]string{
		"failed": "Failed false the pipeline has failed: job terraform", "canceled": "Cancelled false the pipeline was cancelled",
		"skipped": "Failed true the pipeline was skipped: no job has run",
	} {
		w := newWorld(t, host.Options{End: end})
		w.begin(t)
		o := w.observe(t)
		if got := fmt.Sprint(o.State, " ", o.Permanent, " ", o.Message); got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
	}
}

// TestChild waits for the end of a child pipeline, which has the outputs.
func TestChild(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]string{
		"success": "Succeeded ", "failed": "Failed child pipeline child (https://gitlab.com/acme/platform/infra/-/pipelines/102) has the status failed: job terraform",
		"canceled": "Cancelled child pipeline child (https://gitlab.com/acme/platform/infra/-/pipelines/102) has the status canceled",
	} {
		w := newWorld(t, host.Options{Child: end, Stage: time.Minute, Files: map[string]string{"out/outputs.json": `{"endpoint": "db-1"}`}})
		w.run.Request.GitLabPipeline.OutputsFrom = &v1alpha1.GitLabOutputs{Job: "terraform", Path: "out/outputs.json"}
		w.begin(t)
		if o := w.observe(t); o.State != v1alpha1.RunRunning || !strings.HasSuffix(o.Message, "has the status running") {
			t.Errorf("%s: %+v", end, o)
		}
		w.sleep(time.Minute)
		o := w.observe(t)
		if got := fmt.Sprint(o.State, " ", o.Message); got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
		if end != "success" {
			continue
		}
		data := map[string]any{
			"outputs": map[string]any{"endpoint": "db-1"}, "jobs": []any{map[string]any{"name": "terraform", "status": "success"}},
			"artifacts": []any{map[string]any{"name": "terraform/artifacts.zip", "sizeInBytes": int64(1000)}},
		}
		if diff := cmp.Diff(data, o.Data); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBridges finds a child pipeline behind many other jobs that create pipelines.
func TestBridges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{Child: "failed", Bridges: 150})
	w.begin(t)
	if o := w.observe(t); o.State != v1alpha1.RunFailed {
		t.Errorf("%s: %s", o.State, o.Message)
	}
}

// TestCheck finds what is missing in a request, always in the same order: the errors are a message
// in the status, and each other one would be a write of it.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{})
	for range 20 {
		found := fmt.Sprint(w.e.Check(v1alpha1.ActionExecutor{GitLabPipeline: &v1alpha1.GitLabPipeline{}}))
		if found != "[gitlabPipeline.project is required gitlabPipeline.ref is required gitlabPipeline.auth is required]" {
			t.Errorf("%s", found)
		}
	}
}

// TestErrors compares the classes of refusals.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*world, *v1alpha1.GitLabPipeline)
		want   string
	}{
		{"token", func(_ *world, g *v1alpha1.GitLabPipeline) { g.Auth.TokenSecretRef = ref("wrong") }, "terminal: 401 401 Unauthorized"},
		{"right", func(_ *world, g *v1alpha1.GitLabPipeline) { g.Auth.TokenSecretRef = ref("reader") }, "terminal: 403 403 Forbidden"},
		{"trigger", func(_ *world, g *v1alpha1.GitLabPipeline) { g.Auth.TriggerTokenSecretRef = ref("wrong") }, "terminal: 404 404 Not Found: it doesn't exist, or"},
		{"project", func(_ *world, g *v1alpha1.GitLabPipeline) { g.Project = "acme/other" }, "terminal: 404 404 Project Not Found: it doesn't exist, or"},
		{"ref", func(_ *world, g *v1alpha1.GitLabPipeline) { g.Ref = "x" }, "terminal: 400 base: Reference not found"},
		{"limit", func(w *world, _ *v1alpha1.GitLabPipeline) { w.Limit(true) }, "retry: 429 Retry later"},
	} {
		w := newWorld(t, host.Options{})
		c.change(w, w.run.Request.GitLabPipeline)
		_, err := w.e.Begin(t.Context(), w.run)
		kind, message, _ := strings.Cut(c.want, ": ")
		if class(err) != kind || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %s: %v", c.name, class(err), err)
		}
		if len(w.Pipelines()) != 0 {
			t.Errorf("%s: a pipeline was created", c.name)
		}
	}
	w := newWorld(t, host.Options{Before: func() bool { return false }})
	if _, err := w.e.Begin(t.Context(), w.run); class(err) != "unknown" {
		t.Errorf("no answer: %v", err)
	}
	w.run.Request.GitLabPipeline.Auth = &v1alpha1.GitLabAuth{TriggerTokenSecretRef: ref("trigger")}
	if _, err := w.e.Begin(t.Context(), w.run); class(err) != "lost" || strings.Contains(err.Error(), host.Trigger) {
		t.Errorf("no answer, and no token that reads: %v", err)
	}
	if err := w.e.Cancel(t.Context(), w.run); !errors.Is(err, executor.ErrNotSupported) {
		t.Errorf("cancel without a token that may: %v", err)
	}
}

// TestMissing distinguishes a pipeline that was deleted from one that the token has no right to.
func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{})
	w.begin(t)
	w.run.Request.GitLabPipeline.Project = "acme/other"
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "terminal" {
		t.Errorf("without a right: %s: %v", class(err), err)
	}
	w.run.Request.GitLabPipeline.Project = "7"
	w.Delete(101)
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "gone" {
		t.Errorf("deleted: %s: %v", class(err), err)
	}
}

// TestCancel cancels a pipeline, which ends later.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{Stages: []string{"running"}, Stage: time.Hour})
	w.begin(t)
	for _, want := range []v1alpha1.RunState{v1alpha1.RunRunning, v1alpha1.RunCancelled} {
		if err := w.e.Cancel(t.Context(), w.run); err != nil {
			t.Error(err)
		}
		if o := w.observe(t); o.State != want {
			t.Errorf("%s, want %s", o.State, want)
		}
		w.sleep(2 * time.Second)
	}
}

// TestOutputs reads a file at another host, which refuses the token.
func TestOutputs(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a b/outputs.json": `{"port": 5432}`, "large": `{"a": "` + strings.Repeat("x", 64<<10) + `"}`, "list": "[]"}
	for _, c := range []struct{ job, path, want string }{
		{"terraform", "a b/outputs.json", "Succeeded"},
		{"terraform", "none", "Failed job terraform has no artifact none"},
		{"other", "large", "Failed the pipeline has no job other"},
		{"terraform", "large", "Failed job terraform: large has more than 65536 bytes"},
		{"terraform", "list", "Failed job terraform: list is not a JSON object"},
	} {
		w := newWorld(t, host.Options{Files: files})
		w.run.Request.GitLabPipeline.OutputsFrom = &v1alpha1.GitLabOutputs{Job: c.job, Path: c.path}
		w.begin(t)
		o := w.observe(t)
		if got := fmt.Sprint(o.State, " ", o.Message); !strings.HasPrefix(got, c.want) || o.Permanent != (o.State == v1alpha1.RunFailed) {
			t.Errorf("%+v: %s", c, got)
		}
		if o.State != v1alpha1.RunSucceeded {
			continue
		}
		if diff := cmp.Diff(map[string]any{"port": int64(5432)}, o.Data["outputs"]); diff != "" {
			t.Error(diff)
		}
		w.Downloads.URL = strings.Replace(w.Downloads.URL, "127.0.0.1", "localhost", 1)
		if _, err := w.e.Observe(t.Context(), w.run); err == nil || !strings.Contains(err.Error(), "host localhost is not allowed") || strings.Contains(err.Error(), "Signature") {
			t.Errorf("another host: %v", err)
		}
	}
}

// TestJobs reads the jobs of pipelines: at most 50 for the status, and none for expressions if there are more than 1,000.
func TestJobs(t *testing.T) {
	t.Parallel()
	for jobs, want := range map[int]int{0: 1, 99: 100, 999: 1000, 9999: -1} {
		w := newWorld(t, host.Options{Jobs: jobs})
		w.begin(t)
		o := w.observe(t)
		data := -1
		if all, ok := o.Data["jobs"].([]any); ok {
			data = len(all)
		}
		if data != want || len(o.Jobs) != min(jobs+1, v1alpha1.MaxListed) {
			t.Errorf("%d jobs: %d in expressions, %d in the status", jobs, data, len(o.Jobs))
		}
	}
}
