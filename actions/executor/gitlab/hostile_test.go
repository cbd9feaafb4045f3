package gitlab

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pequod-io/pequod/actions/executor"
	host "github.com/pequod-io/pequod/test/hosts/gitlab"
)

// TestManyPipelines has a server that lists thousands of pipelines in a page, and children. Each would cost a request:
// a search spends the budget of polls, and a run with too many children has failed.
func TestManyPipelines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{})
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var all []any
		switch {
		case strings.HasSuffix(r.URL.Path, "/pipelines"):
			for i := range 5000 {
				all = append(all, map[string]any{"id": i + 1})
			}
		case strings.HasSuffix(r.URL.Path, "/bridges"):
			for i := range 5000 {
				all = append(all, map[string]any{"name": "child", "downstream_pipeline": map[string]any{"id": i + 2, "project_id": 1, "status": "success"}})
			}
		case !strings.HasSuffix(r.URL.Path, "/variables") && !strings.HasSuffix(r.URL.Path, "/jobs"):
			_ = json.NewEncoder(out).Encode(map[string]any{"id": 1, "project_id": 1, "status": "success"})
			return
		}
		_ = json.NewEncoder(out).Encode(all)
	}))
	defer server.Close()
	w.run.Request.GitLabPipeline.Server = server.URL
	if _, err := w.e.Find(t.Context(), w.run); !executor.IsLater(err) {
		t.Errorf("a search: %v", err)
	}
	if n := requests.Swap(0); n > 40 {
		t.Errorf("a search sends %d requests", n)
	}
	w = newWorld(t, host.Options{}) // with a budget of its own
	w.run.Request.GitLabPipeline.Server, w.run.ID = server.URL, "1"
	o, err := w.e.Observe(t.Context(), w.run)
	if err == nil && !strings.Contains(o.Message, "more than 100 other pipelines") {
		t.Errorf("%+v", o)
	}
	if n := requests.Load(); err != nil || n > 10 {
		t.Errorf("%d requests, %v", n, err)
	}
}
