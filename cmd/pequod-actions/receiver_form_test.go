package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// bear sends a request with the token of the webhooks, and returns the code and the text of the answer.
func bear(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+hookToken)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestWebhookForm takes the content type that GitHub's page proposes, whose signature is that of the form. For
// other senders the answer and the Event name the content type to use.
func TestWebhookForm(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights)
	address := process.FreeAddress(t)
	e.run(t, "--receiver-addr="+address)
	e.action(t, "db", "1", "")
	e.status(t, "db", reason("RunSucceeded"))
	for name, kind := range map[string]string{"github": "github", "plain": "bearer"} {
		e.receiver(t, name, `
  source: {webhook: {type: `+kind+`, secretRef: {name: hook}}}
  filter: body.ref == "refs/heads/main"
  do: [{reconcile: {kind: Action, name: db}}]
`)
	}
	hook, plain := "http://"+address+e.receiving(t, "github", "Receiving"), "http://"+address+e.receiving(t, "plain", "Receiving")
	form := "payload=" + url.QueryEscape(`{"ref": "refs/heads/main", "name": "a+b & c"}`)
	const kind = "application/x-www-form-urlencoded"
	harness.Eventually(t, patience, func(context.Context) error {
		code := send(t, hook, "1", form, func(h http.Header) { h.Set("Content-Type", kind) })
		if code != 200 {
			return fmt.Errorf("the answer is %d", code)
		}
		return nil
	})
	if e.requested(t, "db") == "" {
		t.Error("the form has no effect")
	}
	if code := send(t, hook, "2", form+"x", func(h http.Header) {
		h.Set("Content-Type", kind+"; charset=utf-8")
		h.Set("X-Hub-Signature-256", "sha256=00")
	}); code != 401 {
		t.Errorf("a wrong signature: %d", code)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		code, text := bear(t, plain, form, "Content-Type", kind)
		if code != 422 || !strings.Contains(text, "content type application/json") {
			return fmt.Errorf("%d: %s", code, text)
		}
		return nil
	})
	e.AwaitEvent(t, patience, "Receiver", "plain", "MessageRefused", "the body is no JSON: have the sender use the content type application/json")
}
