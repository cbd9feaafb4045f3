package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

const patience = 3 * time.Minute

// env is a cluster in which the program is installed, with a server outside.
type env struct {
	*harness.Cluster
	as   *rest.Config
	host *host
}

func newEnv(t *testing.T) *env {
	t.Helper()
	c, as := installed.Borrow(t)
	return &env{c, as, newHost(t)}
}

// run starts the program, which may connect to the server.
func (e *env) run(t *testing.T, args ...string) *process.Process {
	t.Helper()
	p := installed.Start(t, e.Cluster, e.as, append([]string{"--allow-egress=127.0.0.0/8,http://127.0.0.1"}, args...)...)
	t.Cleanup(func() { e.SearchOutput(context.WithoutCancel(t.Context()), t, "the log of "+name, p.Log.String()) })
	return p
}

// withoutLease are the arguments of a program that is started after the last one has been killed,
// and doesn't wait until the lease of that one expires.
var withoutLease = []string{"--leader-elect=false", "--leader-election-namespace="}

// action applies an Action with a size, and more fields of its spec.
func (e *env) action(t *testing.T, name, size, more string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: runner
  http:
    url: %s/databases
    body: {size: %s}
  outputs: {endpoint: run.response.body.endpoint}
%s`, name, e.host.URL, size, more))
}

// status waits until the status of an Action fulfils a condition.
func (e *env) status(t *testing.T, name string, check func(status map[string]any) error) {
	t.Helper()
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		a, err := actions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(a.Object, "status")
		if observed, _, _ := unstructured.NestedInt64(status, "observedGeneration"); observed != a.GetGeneration() {
			return fmt.Errorf("generation %d is not observed: %v", a.GetGeneration(), status)
		}
		return check(status)
	})
}

// reason returns a check for the reason of the condition Ready.
func reason(want string) func(map[string]any) error {
	return func(status map[string]any) error {
		conditions, _, _ := unstructured.NestedSlice(status, "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["reason"] == want {
				return nil
			}
		}
		return fmt.Errorf("Ready has not the reason %s: %v", want, status)
	}
}

// gone waits until an Action is gone.
func (e *env) gone(t *testing.T, name string) {
	t.Helper()
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	if err := actions.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := actions.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Action isn't gone"), err)
		}
		return nil
	})
}

// TestCompleted runs an Action once, although the program restarts, runs it again when its
// inputs change, and undoes it with the outputs that were recorded.
func TestCompleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.polls = 3
	p := e.run(t)
	destroy := fmt.Sprintf("  destroy: {http: {url: %s/remove, bodyFrom: '{\"remove\": run.previous.endpoint}'}}", e.host.URL)
	e.action(t, "db", "1", destroy)
	completed := func(status map[string]any) error {
		if endpoint, _, _ := unstructured.NestedString(status, "outputs", "endpoint"); status["phase"] != "Completed" || !strings.HasPrefix(endpoint, "db-") {
			return fmt.Errorf("no outputs: %v", status)
		}
		return reason("RunSucceeded")(status)
	}
	e.status(t, "db", completed)
	if runs, posts, _ := e.host.counts(); runs != 1 || posts != 1 {
		t.Errorf("%d runs with %d requests", runs, posts)
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = e.run(t)
	p.Ready(t)
	time.Sleep(2 * time.Second)
	if runs, posts, _ := e.host.counts(); runs != 1 || posts != 1 {
		t.Errorf("after a restart: %d runs with %d requests", runs, posts)
	}
	e.action(t, "db", "2", destroy)
	harness.Eventually(t, patience, func(context.Context) error {
		if runs, _, _ := e.host.counts(); runs != 2 {
			return fmt.Errorf("%d runs", runs)
		}
		return nil
	})
	e.status(t, "db", completed)
	a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
	endpoint, _, _ := unstructured.NestedString(a.Object, "status", "outputs", "endpoint")
	e.gone(t, "db")
	if got := strings.Join(e.host.runs, " "); got != fmt.Sprintf(`{"size":1} {"size":2} {"remove":%q}`, endpoint) {
		t.Errorf("runs: %s", got)
	}
}

// TestUnansweredOnce has a server that begins a run and doesn't answer, then refuses connections,
// and then comes back. A refused connection says nothing about the request before it, so the
// server gets the same key, and counts one run.
func TestUnansweredOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.after = func() { e.host.fall() }
	e.run(t)
	e.action(t, "db", "1", "")
	e.status(t, "db", func(status map[string]any) error {
		message, _, _ := unstructured.NestedString(status, "run", "message")
		if !strings.Contains(message, "connection refused") {
			return fmt.Errorf("no connection was refused: %v", status)
		}
		return nil
	})
	e.host.set(func() { e.host.after = func() {} })
	e.host.back(t)
	e.status(t, "db", reason("RunSucceeded"))
	if runs, posts, _ := e.host.counts(); runs != 1 || posts < 2 {
		t.Errorf("%d runs with %d requests", runs, posts)
	}
}

// TestUnansweredRefused has a server that doesn't answer, and then refuses the same request for
// good. The Action stalls at once, since a repetition doesn't help, and says what isn't known.
func TestUnansweredRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.set(func() { e.host.refuse = 503 })
	e.host.after = func() {}
	e.host.before = func() {
		e.host.set(func() {
			if e.host.posts > 1 {
				e.host.refuse = 422
			}
		})
	}
	e.run(t)
	e.action(t, "db", "1", "")
	e.status(t, "db", reason("OutcomeUnknown"))
	a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
	message, _, _ := unstructured.NestedString(a.Object, "status", "run", "message")
	if !strings.Contains(message, "answers 422") || !strings.Contains(message, "an earlier request may have begun the run") {
		t.Errorf("message: %s", message)
	}
}

// TestLabelledWhileAsked has an Action get a label while its server answers. The answer is recorded
// although the Action has changed, and the request isn't sent again.
func TestLabelledWhileAsked(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	e.host.after = func() {
		patch := []byte(`{"metadata":{"labels":{"team":"blue"}}}`)
		if _, err := actions.Patch(t.Context(), "db", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	e.run(t)
	e.action(t, "db", "1", "")
	e.status(t, "db", reason("RunSucceeded"))
	if runs, posts, _ := e.host.counts(); runs != 1 || posts != 1 {
		t.Errorf("%d runs with %d requests", runs, posts)
	}
}

// TestQuickly changes the inputs of an Action to others and back while it runs. One run is open
// at any time, and the last one has the last inputs.
func TestQuickly(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.polls = 3
	e.run(t)
	for i := range 6 {
		e.action(t, "db", fmt.Sprint(i%2), "")
		time.Sleep(300 * time.Millisecond)
	}
	e.action(t, "db", "0", "")
	e.status(t, "db", reason("RunSucceeded"))
	e.host.set(func() {
		if last := e.host.runs[len(e.host.runs)-1]; last != `{"size":0}` || e.host.most != 1 {
			t.Errorf("the last run is %s, and %d were open at once", last, e.host.most)
		}
	})
}

// canary is a token that must be found nowhere but in the request.
const canary = "canary-5f0c1d2e3b4a"

// TestRefused checks terminal errors, the approval, the allow-list, and that a token that the
// server repeats is nowhere in the cluster but in its Secret.
func TestRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.run(t)
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: server}
stringData: {token: %s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [server], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`, canary))
	auth := func(account, name, at string) {
		e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: %s}
spec:
  serviceAccountName: %s
  retry: {attempts: 0}
  http: {url: %q, auth: {tokenSecretRef: {name: server, key: token}}}
`, name, account, at))
	}
	e.host.set(func() { e.host.refuse = 422 })
	auth("runner", "refused", e.host.URL)
	auth("other", "unread", e.host.URL)
	auth("runner", "metadata", "http://169.254.169.254/latest")
	auth("runner", "apiserver", e.Config.Host)
	e.status(t, "refused", reason("RunFailed"))
	e.status(t, "unread", reason("RetriesExhausted"))
	e.status(t, "metadata", reason("RunFailed"))
	e.status(t, "apiserver", reason("RunFailed"))
	for name, want := range map[string]string{
		"refused": "answers 422 refused with [redacted]", "unread": `Secret server: service account other cannot get resource "secrets" in API group ""`,
		"metadata": "host 169.254.169.254 is not allowed", "apiserver": "the address is that of the API server",
	} {
		a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", name)
		if message, _, _ := unstructured.NestedString(a.Object, "status", "run", "message"); !strings.Contains(message, want) {
			t.Errorf("%s: %q, want %q", name, message, want)
		}
		if strings.Contains(fmt.Sprint(a.Object), canary) {
			t.Errorf("%s has the token: %v", name, a.Object)
		}
	}
	e.AwaitEvent(t, patience, "Action", "refused", "Stalled", "RunFailed")
	events, err := e.Client.EventsV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || strings.Contains(fmt.Sprint(events), canary) || strings.Contains(p.Log.String(), canary) {
		t.Errorf("Events or the log have the token: %v", err)
	}
	if e.host.auth[0] != "Bearer "+canary {
		t.Errorf("the server got %q", e.host.auth)
	}
	// An approval is that of one request.
	e.host.set(func() { e.host.refuse = 0 })
	runs, _, _ := e.host.counts()
	e.action(t, "careful", "1", "  approval: Required")
	e.status(t, "careful", reason("WaitingForApproval"))
	digest := func() string {
		a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "careful")
		d, _, _ := unstructured.NestedString(a.Object, "status", "plan", "digest")
		return d
	}
	approved := digest()
	e.action(t, "careful", "2", "  approval: Required")
	harness.Eventually(t, patience, func(context.Context) error {
		if d := digest(); d == approved || d == "" {
			return errors.New("the plan is the old one")
		}
		return nil
	})
	e.annotate(t, "careful", approved)
	time.Sleep(time.Second)
	if now, _, _ := e.host.counts(); now != runs {
		t.Errorf("a plan ran with the approval of another one")
	}
	e.annotate(t, "careful", digest())
	e.status(t, "careful", reason("RunSucceeded"))
}

// annotate approves a plan.
func (e *env) annotate(t *testing.T, name, digest string) {
	t.Helper()
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"pequod.io/approved-plan":%q}}}`, digest)
	if _, err := actions.Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
