package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
)

// remove deletes an Action, and doesn't wait for its end.
func (e *env) remove(t *testing.T, name string) {
	t.Helper()
	if err := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// absent waits until an Action is gone.
func (e *env) absent(t *testing.T, name string) {
	t.Helper()
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := actions.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Action isn't gone"), err)
		}
		return nil
	})
}

// TestDeletedWhileRunning deletes an Action whose run is in progress, and one with newer inputs that
// wait for the end of that run. The run is cancelled, the newer inputs never run, and what undoes
// the Action begins after the end of the run.
func TestDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // the clock of GitHub
	e, s, _ := newGitHub(t, github.Options{
		Prefix: "/api/v3", Running: time.Hour, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	e.run(t)
	const undo = "  destroy: {githubWorkflow: {workflow: destroy.yaml}}"
	runs := func(want string) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if got := dispatched(s); got != want {
				return errors.New(got)
			}
			return nil
		})
	}
	e.workflow(t, s, "running", "database.yaml", "1", undo)
	runs("database1")
	e.status(t, "running", reason("RunInProgress"))
	e.remove(t, "running")
	runs("database1 destroy1")
	ahead.Add(int64(2 * time.Hour))
	e.absent(t, "running")
	e.workflow(t, s, "queued", "database.yaml", "2", undo)
	runs("database1 destroy1 database2")
	e.status(t, "queued", reason("RunInProgress"))
	e.workflow(t, s, "queued", "database.yaml", "3", undo)
	e.status(t, "queued", reason("RunInProgress"))
	e.remove(t, "queued")
	runs("database1 destroy1 database2 destroy2")
	ahead.Add(int64(2 * time.Hour))
	e.absent(t, "queued")
	if got := dispatched(s); got != "database1 destroy1 database2 destroy2" || s.MostOpen() != 1 {
		t.Errorf("runs: %s, and %d were open at once", got, s.MostOpen())
	}
}

// TestDeletedNeverEnds deletes Actions whose server says for ever that the run is in progress, and can't cancel
// it. The message says until when the deletion waits and how to end that, and both are true.
func TestDeletedNeverEnds(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.host.polls = math.MaxInt
	e.run(t)
	deadline := func(name string) (until time.Time) {
		t.Helper()
		e.remove(t, name)
		e.status(t, name, func(status map[string]any) error {
			requested, _, _ := unstructured.NestedString(status, "run", "cancelRequestedAt")
			found := regexp.MustCompile(`the deletion waits for the end of a run, until (\S+) at the latest; the label pequod.io/paused=true ends it now, and undoes nothing`).FindStringSubmatch(fmt.Sprint(status["conditions"]))
			if requested == "" || found == nil {
				return fmt.Errorf("%v", status)
			}
			var err error
			until, err = time.Parse(time.RFC3339, found[1])
			return err
		})
		return until
	}
	e.action(t, "awaited", "1", "  timeout: 30s")
	e.action(t, "released", "2", "  timeout: 1h")
	e.status(t, "awaited", reason("RunInProgress"))
	e.status(t, "released", reason("RunInProgress"))
	until := deadline("awaited")
	if left := time.Until(deadline("released")); left < 50*time.Minute || left > time.Hour {
		t.Errorf("it waits for %s", left)
	}
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	if _, err := actions.Patch(t.Context(), "released", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"pequod.io/paused":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.absent(t, "released")
	e.absent(t, "awaited")
	if early := time.Until(until); early > 0 {
		t.Errorf("it went %s before", early)
	}
}

// TestDeletedWhileDown deletes an Action while its server is down, for longer than its retries take.
// It remains, and says why, until the server is back and has undone it, once. A paused Action goes
// at once, and nothing is undone.
func TestDeletedWhileDown(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(t)
	undo := fmt.Sprintf("  retry: {attempts: 1, initial: 1s, max: 1s}\n  destroy: {http: {url: %s/remove, body: {remove: db}}}", e.host.URL)
	for _, name := range []string{"db", "paused"} {
		e.action(t, name, fmt.Sprintf("%q", name), undo)
		e.status(t, name, reason("RunSucceeded"))
	}
	e.host.fall()
	e.remove(t, "db")
	harness.Eventually(t, patience, func(context.Context) error {
		a := e.Get(t, "platform.pequod.io/v1alpha1", "Action", "db")
		failures, _, _ := unstructured.NestedInt64(a.Object, "status", "failures")
		message := fmt.Sprint(a.Object["status"].(map[string]any)["conditions"])
		if failures < 4 || !strings.Contains(message, e.host.URL+"/remove") || !strings.Contains(message, "connection refused") {
			return fmt.Errorf("%d failures: %s", failures, message)
		}
		return nil
	})
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	if _, err := actions.Patch(t.Context(), "paused", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"pequod.io/paused":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.remove(t, "paused")
	e.absent(t, "paused")
	e.host.back(t)
	e.absent(t, "db")
	if got := strings.Join(e.host.runs, " "); got != `{"size":"db"} {"size":"paused"} {"remove":"db"}` {
		t.Errorf("runs: %s", got)
	}
}

// TestUndoneOnce undoes an Action while the program sees each change a second late. After the Action is
// gone, older states of it don't have it undone again.
func TestUndoneOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	proxy := e.Proxy(t, 1)
	proxy.Inject(faults.Rule{Verbs: []string{"watch"}, Faults: []faults.Fault{faults.Lag{For: time.Second}}})
	e.as = proxy.Config(e.as)
	e.run(t, withoutLease...)
	e.action(t, "db", "1", fmt.Sprintf("  destroy: {http: {url: %s/remove, body: {remove: db}}}", e.host.URL))
	e.status(t, "db", reason("RunSucceeded"))
	_, before, _ := e.host.counts()
	e.remove(t, "db")
	e.absent(t, "db")
	time.Sleep(3 * time.Second) // until the program has seen all states
	if _, after, _ := e.host.counts(); after != before+1 {
		t.Errorf("%d requests to undo it", after-before)
	}
}
