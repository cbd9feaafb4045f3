package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestRequestTimeout checks that the limit ends requests that aren't answered, also
// in the middle of a response, and that it doesn't end watches.
func TestRequestTimeout(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" || r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, "begun ")
			w.(http.Flusher).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-release:
			_, _ = io.WriteString(w, "ended")
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, Timeout: 50 * time.Millisecond}
	limitRequests(config)
	if config.Timeout != 0 {
		t.Errorf("the timeout of client-go is %s", config.Timeout)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) (string, error) {
		response, err := client.Get(server.URL + path)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		return string(data), err
	}
	if _, err := read("/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request without an answer: %v", err)
	}
	if data, err := read("/begun"); data != "begun " || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request with half of an answer: %q, %v", data, err)
	}
	// The watch is released after other requests with the same limit have timed out.
	watched := make(chan string)
	go func() {
		data, err := read("/?watch=true")
		watched <- data + errorText(err)
	}()
	for range 2 {
		if _, err := read("/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request without an answer: %v", err)
		}
	}
	close(release)
	if got := <-watched; got != "begun ended" {
		t.Errorf("the watch: %q", got)
	}
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
