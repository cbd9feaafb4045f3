package external

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// token is a Secret with a token.
type token struct{}

func (token) Secret(context.Context, string, string, string) (map[string][]byte, error) {
	return map[string][]byte{"token": []byte("s3cret-token")}, nil
}

// TestProtocol leads a run through its plan, its approval and its cancellation at a server.
func TestProtocol(t *testing.T) {
	t.Parallel()
	runs := map[string]string{} // phases by key
	answer := func(w http.ResponseWriter, key string) {
		phase, known := runs[key]
		if !known {
			http.NotFound(w, nil)
			return
		}
		reply := map[string]any{"phase": phase, "url": "https://example.com/" + key + "?sig=x", "outputs": map[string]any{"replicas": 3}}
		if phase == "WaitingForApproval" {
			reply["plan"] = map[string]any{"digest": "sha256:1", "summary": "creates s3cret-token"}
		}
		_ = json.NewEncoder(w).Encode(reply)
	}
	var begun map[string]any
	mux := http.NewServeMux()
	put := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		begun = nil
		_ = json.NewDecoder(r.Body).Decode(&begun)
		if runs[r.PathValue("key")] = "Succeeded"; begun["approval"] == true {
			runs[r.PathValue("key")] = "WaitingForApproval"
		}
		answer(w, r.PathValue("key"))
	}
	mux.HandleFunc("PUT /api/v1/runs/{key}", put)
	mux.HandleFunc("PUT /api/v1/destroy/{key}", put)
	mux.HandleFunc("GET /api/v1/runs/{key}", func(w http.ResponseWriter, r *http.Request) { answer(w, r.PathValue("key")) })
	mux.HandleFunc("POST /api/v1/runs/{key}/approve", func(w http.ResponseWriter, r *http.Request) {
		runs[r.PathValue("key")] = "Running"
	})
	mux.HandleFunc("POST /api/v1/runs/{key}/cancel", func(w http.ResponseWriter, r *http.Request) {
		runs[r.PathValue("key")] = "Cancelled"
		w.WriteHeader(http.StatusConflict)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	e := New(executor.Server{Client: egress.New(egress.Options{Allowed: allowed}), Secrets: token{}})
	x := &v1alpha1.ExternalExecutor{URL: server.URL + "/api/", Auth: &v1alpha1.ServerAuth{TokenSecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "token"}}}
	run := executor.Run{Namespace: "shop", Name: "db", Key: "k1", Purpose: v1alpha1.RunApply, Attempt: 2, Approval: true, Request: v1alpha1.ActionExecutor{External: x}}
	if o, err := e.Find(t.Context(), run); o != nil || err != nil {
		t.Errorf("found %v, %v", o, err)
	}
	o, err := e.Begin(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	o.Publish()
	if o.State != v1alpha1.RunWaitingForApproval || o.Plan.Summary != "creates [redacted]" || o.URL != "https://example.com/k1" {
		t.Errorf("begun: %+v %+v", o, o.Plan)
	}
	want := map[string]any{"namespace": "shop", "name": "db", "purpose": "Apply", "generation": 0.0, "attempt": 2.0, "approval": true}
	if diff := cmp.Diff(want, begun); diff != "" {
		t.Error(diff)
	}
	if err := e.Approve(t.Context(), run, o.Plan.Digest); err != nil {
		t.Error(err)
	}
	if o, err := e.Observe(t.Context(), run); err != nil || o.State != v1alpha1.RunRunning {
		t.Errorf("approved: %+v, %v", o, err)
	}
	if err := e.Cancel(t.Context(), run); err != nil {
		t.Error(err)
	}
	if o, err := e.Find(t.Context(), run); err != nil || o.State != v1alpha1.RunCancelled {
		t.Errorf("cancelled: %+v, %v", o, err)
	}
	run.Purpose, run.Key, run.Approval = v1alpha1.RunDestroy, "k2", false
	o, err = e.Begin(t.Context(), run)
	if err != nil || o.State != v1alpha1.RunSucceeded {
		t.Fatalf("destroyed: %+v, %v", o, err)
	}
	if diff := cmp.Diff(map[string]any{"outputs": map[string]any{"replicas": int64(3)}}, o.Data); diff != "" {
		t.Error(diff)
	}
}
