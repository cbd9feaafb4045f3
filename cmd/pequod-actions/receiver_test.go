package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// hookToken is the token of the webhooks.
const hookToken = "canary-hook-9b1c2d3e4f"

// hookRights are a Secret with the token, and what the account runner may do.
const hookRights = `
apiVersion: v1
kind: Secret
metadata: {name: hook}
stringData: {token: ` + hookToken + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules:
- {apiGroups: [""], resources: [secrets], resourceNames: [hook], verbs: [get]}
- {apiGroups: [platform.pequod.io], resources: [actions], verbs: [get, list, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`

// receiver applies a Receiver with a source and the rest of its spec.
func (e *env) receiver(t *testing.T, name, spec string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Receiver
metadata: {name: %s}
spec:
  serviceAccountName: runner
%s`, name, spec))
}

// receiving waits until the condition Ready of a Receiver has a reason, and returns its path.
func (e *env) receiving(t *testing.T, name, want string) (path string) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		r := e.Get(t, "platform.pequod.io/v1alpha1", "Receiver", name)
		status, _, _ := unstructured.NestedMap(r.Object, "status")
		if observed, _, _ := unstructured.NestedInt64(status, "observedGeneration"); observed != r.GetGeneration() {
			return fmt.Errorf("generation %d is not observed: %v", r.GetGeneration(), status)
		}
		path, _, _ = unstructured.NestedString(status, "webhookPath")
		return reason(want)(status)
	})
	return path
}

// send sends a signed request of GitHub, and returns the code of the answer, or 0.
func send(t *testing.T, url, delivery, body string, change func(http.Header)) int {
	t.Helper()
	return sendWith(t, http.DefaultClient, url, delivery, body, change)
}

// sendWith is send with a client.
func sendWith(t *testing.T, client *http.Client, url, delivery, body string, change func(http.Header)) int {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(hookToken))
	mac.Write([]byte(body))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-GitHub-Event", "workflow_run")
	request.Header.Set("X-GitHub-Delivery", delivery)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	if change != nil {
		change(request.Header)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || strings.Contains(string(text), hookToken) {
		t.Errorf("answer %q: %v", text, err)
	}
	return answer.StatusCode
}

// requested returns the last request for a reconciliation of an Action.
func (e *env) requested(t *testing.T, name string) string {
	t.Helper()
	return e.Get(t, "platform.pequod.io/v1alpha1", "Action", name).GetAnnotations()["pequod.io/reconcile-requested-at"]
}

// TestWebhook runs an Action again for each delivery of a webhook, once, and refuses requests
// that aren't the sender's without saying why.
func TestWebhook(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	address := process.FreeAddress(t)
	p := e.run(t, "--receiver-addr="+address)
	e.Apply(t, hookRights)
	e.action(t, "db", "1", "")
	e.action(t, "other", "2", "")
	e.status(t, "db", reason("RunSucceeded"))
	e.status(t, "other", reason("RunSucceeded"))
	e.receiver(t, "hook", `
  source: {webhook: {type: github, secretRef: {name: hook}, events: [workflow_run]}}
  filter: body.action == "completed"
  do:
  - reconcile: {kind: Action, selector: {}, when: object.metadata.name == body.name}
`)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	const body = `{"action": "completed", "name": "db"}`
	runs := func(want int) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if runs, _, _ := e.host.counts(); runs != want {
				return fmt.Errorf("%d runs, want %d", runs, want)
			}
			return nil
		})
		e.status(t, "db", reason("RunSucceeded"))
	}
	last := ""
	for i, test := range []struct {
		name, url, delivery, body string
		change                    func(http.Header)
		code, runs                int
	}{
		{"first", url, "a", body, nil, 200, 3},
		{"another", url, "b", body, nil, 200, 4},
		{"the first again", url, "a", body, nil, 200, 4},
		{"filtered", url, "c", `{"action": "requested", "name": "db"}`, nil, 200, 4},
		{"another event", url, "d", body, func(h http.Header) { h.Set("X-GitHub-Event", "push") }, 200, 4},
		{"wrong signature", url, "e", body, func(h http.Header) { h.Set("X-Hub-Signature-256", "sha256=00") }, 401, 4},
		{"no signature", url, "f", body, func(h http.Header) { h.Del("X-Hub-Signature-256") }, 401, 4},
		{"sha1 only", url, "g", body, func(h http.Header) {
			h.Del("X-Hub-Signature-256")
			h.Set("X-Hub-Signature", "sha1=7b5d5e2b0bd4d7e8d6ad7e2e4a4d2c4a8d5e5b3c")
		}, 401, 4},
		{"another path", url[:len(url)-4] + "0000", "h", body, nil, 404, 4},
		{"too large", url, "i", strings.Repeat(" ", 1<<20) + body, nil, 413, 4},
	} {
		if code := send(t, test.url, test.delivery, test.body, test.change); code != test.code {
			t.Errorf("%s: %d, want %d", test.name, code, test.code)
		}
		switch {
		case i < 2:
			runs(test.runs)
			last = e.requested(t, "db")
		case e.requested(t, "db") != last:
			t.Errorf("%s: a reconciliation was requested", test.name)
		}
	}
	runs(4)
	// Another token makes another path, and the old one is unknown at once.
	e.Apply(t, strings.ReplaceAll(hookRights, hookToken, "another-token-9b1c2d3e4f"))
	receivers := e.Await(t, "platform.pequod.io/v1alpha1", "Receiver", "")
	if _, err := receivers.Patch(t.Context(), "hook", "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if "http://"+address+e.receiving(t, "hook", "Receiving") == url {
			return errors.New("the path is the old one")
		}
		return nil
	})
	harness.Eventually(t, patience, func(context.Context) error {
		if code := send(t, url, "j", body, nil); code != 404 {
			return fmt.Errorf("the old path answers %d", code)
		}
		return nil
	})
	if strings.Contains(p.Log.String(), hookToken) {
		t.Error("the log has the token")
	}
}

// TestWebhookObserves has an Action look at its run at once, although its next poll is an hour
// away. No run is started.
func TestWebhookObserves(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.polls = 2
	address := process.FreeAddress(t)
	e.run(t, "--receiver-addr="+address)
	e.Apply(t, hookRights)
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: db}
spec:
  serviceAccountName: runner
  timeout: 100h
  http:
    url: %s/databases
    poll: {url: '%q + run.response.headers.location', until: run.response.status == 200, every: 50h}
`, e.host.URL, e.host.URL))
	e.receiver(t, "hook", `
  source: {webhook: {type: github, secretRef: {name: hook}}}
  do:
  - observe: {selector: {}, when: object.status.run.state == "Running" && object.status.run.id.endsWith(body.run)}
`)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	e.status(t, "db", reason("RunInProgress"))
	deliveries := 0
	harness.Eventually(t, patience, func(context.Context) error {
		e.host.mu.Lock()
		key := strings.Join(e.host.keys, " ")
		e.host.mu.Unlock()
		deliveries++
		if code := send(t, url, fmt.Sprint(deliveries), fmt.Sprintf(`{"run": %q}`, key), nil); code != 200 {
			t.Fatalf("answer %d", code)
		}
		return reason("RunSucceeded")(e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db").Object["status"].(map[string]any))
	})
	if runs, posts, _ := e.host.counts(); runs != 1 || posts != 1 {
		t.Errorf("%d runs with %d requests", runs, posts)
	}
}

// TestWebhookOutage delivers a message while the API server is away, answers with an error, or has
// stored an effect and its answer is lost. The sender repeats it until it is acknowledged, and the
// Action runs once.
func TestWebhookOutage(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	proxy := e.Proxy(t, 1)
	address := process.FreeAddress(t)
	e.as = proxy.Config(e.as)
	e.run(t, append(withoutLease, "--receiver-addr="+address)...)
	e.Apply(t, hookRights)
	e.action(t, "db", "1", "")
	e.status(t, "db", reason("RunSucceeded"))
	e.receiver(t, "hook", `
  source: {webhook: {type: github, secretRef: {name: hook}}}
  do: [{reconcile: {kind: Action, name: db}}]
`)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	write := faults.Rule{Verbs: []string{"patch"}, Resources: []string{"actions.platform.pequod.io"}, Times: 1}
	with := func(f faults.Fault) func() {
		return func() {
			write.Faults = []faults.Fault{f}
			proxy.Inject(write)
		}
	}
	for i, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"away", func() { _ = proxy.Down() }, func() {
			if err := proxy.Up(); err != nil {
				t.Fatal(err)
			}
		}},
		{"an error", with(faults.Status{Code: 500}), func() {}},
		{"no answer", with(faults.Cut{}), func() {}},
	} {
		outage.begin()
		delivery := fmt.Sprint("outage-", i)
		if code := send(t, url, delivery, `{}`, nil); code != 503 {
			t.Errorf("%s: the answer is %d", outage.name, code)
		}
		outage.end()
		harness.Eventually(t, patience, func(context.Context) error {
			if code := send(t, url, delivery, `{}`, nil); code != 200 {
				return fmt.Errorf("the answer is %d", code)
			}
			return nil
		})
		harness.Eventually(t, patience, func(context.Context) error {
			if runs, _, _ := e.host.counts(); runs != 2+i {
				return fmt.Errorf("%s: %d runs, want %d", outage.name, runs, 2+i)
			}
			return nil
		})
		before := e.requested(t, "db")
		if code := send(t, url, delivery, `{}`, nil); code != 200 || e.requested(t, "db") != before {
			t.Errorf("%s: the message had its effect twice", outage.name)
		}
	}
	// The path stays while the token can't be read, or senders would be told that there is none.
	proxy.Inject(faults.Rule{Verbs: []string{"get"}, Resources: []string{"secrets"}, Faults: []faults.Fault{faults.Status{Code: 500}}})
	request := []byte(`{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
	if _, err := e.Await(t, "platform.pequod.io/v1alpha1", "Receiver", "").Patch(t.Context(), "hook", types.MergePatchType, request, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if path := e.receiving(t, "hook", "SecretUnavailable"); "http://"+address+path != url {
		t.Errorf("the path is %q", path)
	}
	if code := send(t, url, "unread", `{}`, nil); code == http.StatusNotFound {
		t.Errorf("the answer is %d", code)
	}
}
