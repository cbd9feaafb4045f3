package serve

import (
	"context"
	"encoding/json"
	"errors"
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
	server := httptest.NewServer(newRoom(roomTimeout).limit(failing(admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return answer }))))
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
	const most = largeDecoded / (copies * maxRequest)
	release, entered := make(chan struct{}), make(chan struct{}, most+1)
	server := httptest.NewServer(newRoom(200 * time.Millisecond).limit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil && r.URL.Path == "/large" {
			entered <- struct{}{}
			select {
			case <-release:
			case <-time.After(30 * time.Second): // if the requests are not limited
			}
		}
	})))
	defer server.Close()
	post := func(path string, size int) error {
		response, err := http.Post(server.URL+path, "application/json", strings.NewReader("{"+strings.Repeat("a", size-1)))
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
	results := make(chan error, most)
	for range most {
		go func() { results <- post("/large", maxRequest) }()
	}
	for range most {
		select {
		case <-entered:
		case err := <-results:
			t.Fatalf("a large request has no room: %v", err)
		}
	}
	if err := post("/large", maxRequest); err == nil || len(entered) > 0 {
		t.Errorf("one large request more than %d isn't refused: %v", most, err)
	}
	if err := post("/small", 64<<10); err != nil {
		t.Errorf("a small request has no room beside %d large ones: %v", most, err)
	}
	close(release)
	for range most {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if err := post("/large", maxRequest); err != nil {
		t.Errorf("there is no room after the large requests: %v", err)
	}
}
