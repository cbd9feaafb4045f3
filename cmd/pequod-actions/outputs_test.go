package main

import (
	"fmt"
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
