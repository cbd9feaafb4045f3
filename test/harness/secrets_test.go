package harness_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// failures is a test that only records errors.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}
func (f *failures) Helper() {}

// TestSecretsAreSearchedFor checks that the search at the end of each test finds values
// of Secrets in Events, inventories and outputs, and nothing else.
func TestSecretsAreSearchedFor(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	found := &failures{TB: t}
	want := func(want string) {
		t.Helper()
		found.messages = nil
		c.SearchSecrets(t.Context(), found)
		if got := strings.Join(found.messages, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("found %q; want %q", got, want)
		}
	}
	inventory := func(text string) {
		t.Helper()
		c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: i, labels: {pequod.io/inventory: "true"}}, data: {a: `+text+`}}`)
	}
	c.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: Kanarienvogel, b: short, c: "Rot\"kehlchen"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: Kanarienvogel}}`)
	inventory("short")
	want("")
	inventory("has S2FuYXJpZW52b2dlbA==")
	want("an inventory shows ")
	inventory(`'Rot"kehlchen'`)
	want("the value of s.c in a Secret")
	inventory("clean") // or the search at the end of this test fails

	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Name: "i", Namespace: c.Namespace},
		Message:        "is not Kanarienvogel-2",
	}
	events := c.Client.CoreV1().Events(c.Namespace)
	if _, err := events.Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want("an Event shows ")
	if err := events.Delete(t.Context(), "e", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want("")

	c.SearchOutput(t.Context(), found, "stdout", "a: ***, b: short")
	if len(found.messages) > 0 {
		t.Errorf("found %q", found.messages)
	}
	c.SearchOutput(t.Context(), found, "stdout", "a: Kanarienvogel")
	if len(found.messages) != 1 {
		t.Errorf("found %q", found.messages)
	}
}
