package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestOutputs changes the outputs of Actions that have run. They don't run again: the outputs are
// read of the last run, or can't be if the server doesn't show it.
func TestOutputs(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(t)
	apply := func(name, outputs string) {
		e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  http: {url: %s, body: {name: %s}}
  outputs: %s
`, name, e.host.URL, name, outputs))
	}
	posts := func(want int) {
		t.Helper()
		if _, posts, _ := e.host.counts(); posts != want {
			t.Errorf("%d requests, want %d", posts, want)
		}
	}
	e.host.set(func() { e.host.polls = 2 })
	apply("shown", "{endpoint: run.response.body.endpoint}")
	e.status(t, "shown", reason("RunSucceeded"))
	apply("shown", "{address: '\"tcp://\" + run.response.body.endpoint', attempt: run.attempt}")
	e.status(t, "shown", func(status map[string]any) error {
		address, _, _ := unstructured.NestedString(status, "outputs", "address")
		attempt, _, _ := unstructured.NestedInt64(status, "outputs", "attempt")
		if len(address) != len("tcp://db-00000000") || attempt != 1 {
			return fmt.Errorf("outputs: %v", status["outputs"])
		}
		return reason("RunSucceeded")(status)
	})
	posts(1)
	apply("shown", "{wrong: run.response.body.none}")
	e.status(t, "shown", reason("OutputsUnavailable"))
	// A server that answers at once shows nothing afterwards.
	e.host.set(func() { e.host.polls = 0 })
	apply("hidden", "{endpoint: run.response.body.endpoint}")
	e.status(t, "hidden", reason("RunSucceeded"))
	apply("hidden", "{address: run.response.body.endpoint}")
	e.status(t, "hidden", reason("OutputsUnavailable"))
	apply("hidden", "{endpoint: run.response.body.endpoint}")
	e.status(t, "hidden", reason("RunSucceeded"))
	posts(2)
}

// TestLargeOutputs has servers that answer with outputs over 64 KiB, a body without an end, and a small
// body that is a large one when it is decompressed. Each Action fails once, with one error, and
// stores nothing of it.
func TestLargeOutputs(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var posts atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		chunk := bytes.Repeat([]byte("a"), 64<<10)
		switch r.URL.Path {
		case "/large":
			fmt.Fprintf(w, `{"value": "%s"}`, chunk)
		case "/endless":
			for err := error(nil); err == nil; {
				_, err = w.Write(chunk)
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 512 {
				_, _ = z.Write(chunk) // the client may be gone
			}
			_ = z.Close() // the client may be gone
		}
	})
	e.run(t)
	for name, want := range map[string]string{
		"large": "the outputs have more than 65536 bytes", "endless": "the response is larger than 1048576 bytes", "bomb": "run.response.body is a string",
	} {
		e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %[1]s}
spec:
  serviceAccountName: runner
  http: {url: "%[2]s/%[1]s"}
  outputs: {value: run.response.body.value}
`, name, url))
		e.status(t, name, func(status map[string]any) error {
			message, _, _ := unstructured.NestedString(status, "run", "message")
			if !strings.Contains(message, want) || status["outputs"] != nil || len(fmt.Sprint(status)) > 8<<10 {
				return fmt.Errorf("%q, want %q; %d bytes", message, want, len(fmt.Sprint(status)))
			}
			return nil
		})
	}
	if n := posts.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
}
