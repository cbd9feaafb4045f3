package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// TestUnavailable holds that a webhook that can't decide doesn't answer with a review, which
// would be a refusal.
func TestUnavailable(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	answer := admission.Allowed("")
	server := httptest.NewServer(limit(newRoom(), failing(admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return answer }))))
	defer server.Close()
	for _, test := range []struct {
		answer  admission.Response
		code    int
		allowed bool
		text    string
	}{
		{admission.Allowed(""), http.StatusOK, true, ""},
		{admission.Denied("no"), http.StatusOK, false, ""},
		{Unavailable("not loaded"), http.StatusInternalServerError, false, "not loaded\n"},
	} {
		answer = test.answer
		response, err := http.Post(server.URL, "application/json", strings.NewReader(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != test.code || test.text != "" && string(body) != test.text {
			t.Errorf("%d: %s, %v", response.StatusCode, body, err)
		}
		var review admissionv1.AdmissionReview
		if test.text == "" && (json.Unmarshal(body, &review) != nil || review.Response.Allowed != test.allowed) {
			t.Errorf("%s", body)
		}
	}
}

// TestLimit holds that many small requests are in progress at a time, and few large ones.
func TestLimit(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(limit(newRoom(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil && r.URL.Path == "/large" {
			<-hold
		}
	})))
	defer server.Close()
	defer close(hold)
	large := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/large", strings.NewReader(strings.Repeat("a", maxRequest)))
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	for range maxBytes / maxRequest {
		go func() { _ = large(time.Minute) }()
	}
	deadline := time.Now().Add(time.Minute)
	for {
		response, err := http.Post(server.URL+"/small", "application/json", strings.NewReader(strings.Repeat("a", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		// One of 1 MiB still has room beside nine of 7 MiB, and one of 7 MiB has not.
		if err := large(200 * time.Millisecond); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("large requests are not limited")
		}
	}
}
