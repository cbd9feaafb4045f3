package main

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a test that only records errors.
type recorder struct {
	testing.TB
	messages []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

// TestSecretInStatus checks that the search at the end of each test finds the value of a Secret in
// the status of an Action.
func TestSecretInStatus(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: server}, stringData: {token: "+canary+"}}")
	e.action(t, "leaky", "1", "")
	for message, want := range map[string]int{"answers 401 to " + canary: 1, "answers 401": 0} {
		e.SetStatus(t, "platform.pequod.io/v1alpha1", "Action", "leaky", map[string]any{"run": map[string]any{
			"key": "k", "purpose": "Apply", "reason": "Spec", "generation": 1, "attempt": 1, "inputs": "i",
			"request": map[string]any{}, "state": "Failed", "intentAt": "2026-01-01T00:00:00Z", "message": message,
		}})
		found := &recorder{TB: t}
		e.SearchSecrets(t.Context(), found)
		if len(found.messages) != want || want > 0 && !strings.Contains(found.messages[0], "the status of Action leaky shows ") {
			t.Errorf("%s: found %q", message, found.messages)
		}
	}
	e.SetStatus(t, "platform.pequod.io/v1alpha1", "Action", "leaky", map[string]any{"run": nil})
}
