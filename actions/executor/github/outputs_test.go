package github

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
)

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
		if _, err := w.e.get(t.Context(), w.run, actions(w.run, "/runs/%d", i), true); class(err) == "later" {
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
		if c.name == "good" {
			// A refusal often quotes the signed address.
			w.Downloads.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.String(), http.StatusForbidden) })
			if _, err := w.e.Observe(t.Context(), w.run); err == nil || !strings.Contains(err.Error(), "answers 403") || strings.Contains(err.Error(), "signed") {
				t.Errorf("a refusal: %v", err)
			}
		}
		// The other host must be allowed, too, and its signed address isn't shown.
		w.Downloads.URL = strings.Replace(w.Downloads.URL, "127.0.0.1", "localhost", 1)
		if _, err := w.e.Observe(t.Context(), w.run); c.name == "good" && (err == nil || !strings.Contains(err.Error(), "host localhost is not allowed") || strings.Contains(err.Error(), "sig")) {
			t.Errorf("another host: %v", err)
		}
	}
}

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
