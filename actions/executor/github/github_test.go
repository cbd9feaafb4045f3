package github

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
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

// key is the private key of an App.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

const runKey = "5f0c1d2e3b4a59687786a5b4c3d2e1f0"

func deploy() host.Workflow {
	return host.Workflow{
		ID: 42, File: "deploy.yaml", Manual: true, Inputs: []string{"size", "key"}, Title: "deploy ${{ inputs.key }}", Conclusion: "success", Jobs: 1,
	}
}

func newWorld(t *testing.T, o host.Options, w host.Workflow) *world {
	t.Helper()
	x := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)}
	o.Now = x.clock
	x.Server = host.New(t, o, w)
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key())})
	x.e = New(executor.Server{Client: egress.New(egress.Options{Allowed: allowed}), Secrets: secrets{"token": []byte(host.Token), "wrong": []byte("wr0ng"), "app": private}})
	x.e.now = x.clock
	x.run = executor.Run{Namespace: "shop", Name: "db", Account: "runner", Key: runKey, IntentAt: x.now, Since: x.now, Request: v1alpha1.ActionExecutor{
		GitHubWorkflow: &v1alpha1.GitHubWorkflow{
			Server: x.URL + o.Prefix, Repository: host.Repository, Workflow: "deploy.yaml", Ref: "main", KeyInput: "key",
			Inputs: map[string]v1alpha1.RunnerInput{"size": "500"},
			Auth:   &v1alpha1.GitHubAuth{TokenSecretRef: &v1alpha1.SecretKeyRef{Name: "github", Key: "token"}},
		},
	}}
	return x
}

// posts returns the number of requests that dispatch.
func (w *world) posts() (n int) {
	for _, r := range w.Requests() {
		if strings.HasSuffix(r, "/dispatches") {
			n++
		}
	}
	return n
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

// TestDispatch begins runs at servers that return their ID, that don't, and that refuse to be
// asked for it.
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

// TestFind looks for runs that may have begun, at a server that lists them late and among those of
// others.
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

// TestNameless has a workflow without the key in its name.
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

// TestStates follows a run, and takes each conclusion.
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

// TestErrors compares the classes of refusals, and when the request may be sent again.
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

// TestUnanswered loses the answer to a dispatch. Only a run with a key is begun again.
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

// TestMissing distinguishes a run that was deleted from one that the token has no right to.
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

// TestCancel cancels runs: one ends, one has ended, and one ends by force only.
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

// TestJobs reads the jobs of runs: at most 50 for the status, and none for expressions if there are more than 1,000.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ jobs, status, data, requests int }{{0, 0, 0, 1}, {70, 50, 70, 2}, {1000, 50, 1000, 20}, {10000, 50, -1, 20}} {
		f := deploy()
		f.Jobs = c.jobs
		w := newWorld(t, host.Options{}, f)
		w.begin(t)
		o := w.observe(t)
		data, requests := -1, 0
		if all, ok := o.Data["jobs"].([]any); ok {
			data = len(all)
		}
		for _, r := range w.Requests() {
			if strings.HasSuffix(r, "/jobs") {
				requests++
			}
		}
		if len(o.Jobs) != c.status || data != c.data || requests != c.requests {
			t.Errorf("%d jobs: %d in the status, %d in expressions, %d requests", c.jobs, len(o.Jobs), data, requests)
		}
	}
}

// TestBusy reads a run that has ended while the program polls the server too often. Each look at it
// gets its turn, and the first one that does reads everything.
func TestBusy(t *testing.T) {
	t.Parallel()
	f := deploy()
	f.Artifacts = map[string][]byte{"outputs": archive(t, "outputs.json", "{}", 0o644)}
	w := newWorld(t, host.Options{}, f)
	w.run.Request.GitHubWorkflow.OutputsArtifact = "outputs"
	w.begin(t)
	id := w.run.ID
	for i := range 100 { // others spend the budget
		w.run.ID = fmt.Sprint(i)
		if _, err := w.e.get(t.Context(), w.run, actions(w.run, "/runs/%d", i)); class(err) == "later" {
			break
		}
	}
	w.run.ID = id
	for range 2 {
		o, err := w.e.Observe(t.Context(), w.run)
		var known *executor.Error
		if err == nil && o.State == v1alpha1.RunSucceeded {
			return
		}
		if !errors.As(err, &known) || known.Class != executor.Later {
			t.Fatalf("%+v, %v", o, err)
		}
		time.Sleep(time.Until(known.After))
	}
	t.Error("the run isn't read in its turn")
}

// archive returns a zip with one file.
func archive(t *testing.T, name, content string, mode fs.FileMode) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	f, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestOutputs reads outputs at another host, which refuses the token, and refuses archives that are
// too large or not regular.
func TestOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"good", archive(t, "outputs.json", `{"endpoint": "db-1", "port": 5432}`, 0o644), "Succeeded"},
		{"full", archive(t, "outputs.json", `{"a": "`+strings.Repeat("x", 64<<10-9)+`"}`, 0o644), "Succeeded"},
		{"large", archive(t, "outputs.json", `{"a": "`+strings.Repeat("x", 64<<10)+`"}`, 0o644), "outputs.json has more than 65536 bytes"},
		{"bomb", archive(t, "outputs.json", strings.Repeat("0", 64<<20), 0o644), "outputs.json has more than 65536 bytes"},
		{"symlink", archive(t, "outputs.json", "/etc/passwd", fs.ModeSymlink|0o777), "outputs.json is not a regular file"},
		{"other", archive(t, "other.json", "{}", 0o644), "it has no file outputs.json"},
		{"array", archive(t, "outputs.json", "[1]", 0o644), "outputs.json is not a JSON object"},
		{"two", archive(t, "outputs.json", "{} {}", 0o644), "outputs.json is not a JSON object"},
		{"no zip", []byte("PK"), "it is not a zip"},
		{"huge", bytes.Repeat([]byte("x"), 600<<10), "artifact outputs has 614400 bytes, and outputs at most 524288"},
	} {
		f := deploy()
		f.Artifacts = map[string][]byte{"outputs": c.data, "log": []byte("x")}
		w := newWorld(t, host.Options{}, f)
		w.run.Request.GitHubWorkflow.OutputsArtifact = "outputs"
		w.begin(t)
		o := w.observe(t)
		if got := fmt.Sprint(o.State, o.Message); !strings.Contains(got, c.want) || o.Permanent != (o.State == v1alpha1.RunFailed) {
			t.Errorf("%s: %s", c.name, got)
		}
		if diff := cmp.Diff([]v1alpha1.RunArtifact{{Name: "log", SizeInBytes: 1}, {Name: "outputs", SizeInBytes: int64(len(c.data))}}, o.Artifacts); diff != "" {
			t.Error(c.name, diff)
		}
		if c.name == "good" {
			if diff := cmp.Diff(map[string]any{"endpoint": "db-1", "port": int64(5432)}, o.Data["outputs"]); diff != "" {
				t.Error(diff)
			}
		}
		// The other host must be allowed, too, and its signed address isn't shown.
		w.Downloads.URL = strings.Replace(w.Downloads.URL, "127.0.0.1", "localhost", 1)
		if _, err := w.e.Observe(t.Context(), w.run); c.name == "good" && (err == nil || !strings.Contains(err.Error(), "host localhost is not allowed") || strings.Contains(err.Error(), "sig")) {
			t.Errorf("another host: %v", err)
		}
	}
}

// TestNoArtifact has a run without the artifact that it should have.
func TestNoArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{}, deploy())
	w.run.Request.GitHubWorkflow.OutputsArtifact = "outputs"
	w.begin(t)
	if o := w.observe(t); o.State != v1alpha1.RunRunning || !strings.Contains(o.Message, "isn't listed yet") {
		t.Errorf("at once: %+v", o)
	}
	w.sleep(time.Minute)
	if o := w.observe(t); o.State != v1alpha1.RunFailed || o.Message != "the run has no artifact outputs, which outputsArtifact names" {
		t.Errorf("later: %+v", o)
	}
}

// TestApp runs with tokens of an App: one token for many requests, another one after its end, and
// another one after it was revoked.
func TestApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{AppID: "123", AppKey: &key().PublicKey, Running: 3 * time.Hour}, deploy())
	app := &v1alpha1.GitHubApp{ID: 123, InstallationID: 7, PrivateKeySecretRef: v1alpha1.SecretKeyRef{Name: "app", Key: "app"}}
	w.run.Request.GitHubWorkflow.Auth = &v1alpha1.GitHubAuth{App: app}
	tokens := func(want int) {
		t.Helper()
		made := 0
		for _, r := range w.Requests() {
			if strings.HasSuffix(r, "/access_tokens") {
				made++
			}
		}
		if made != want {
			t.Errorf("%d tokens, want %d", made, want)
		}
	}
	w.begin(t)
	w.observe(t)
	w.observe(t)
	tokens(1)
	w.sleep(56 * time.Minute) // it would expire in mid-request
	w.observe(t)
	tokens(2)
	w.Revoke("ghs_installation1003")
	w.observe(t)
	tokens(3)
	app.ID = 124
	_, err := w.e.Observe(t.Context(), w.run)
	if class(err) != "terminal" || !strings.Contains(err.Error(), "'Issuer' claim") || strings.Contains(err.Error(), "eyJ") {
		t.Errorf("another App: %v", err)
	}
	app.PrivateKeySecretRef.Key = "token"
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "retry" || !strings.Contains(err.Error(), "it is not PEM") {
		t.Errorf("no key: %v", err)
	}
}

// TestCheck finds what is missing in a request, also if parts of it are taken over.
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
