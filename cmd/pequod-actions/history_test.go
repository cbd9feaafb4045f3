package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/postgres"
	"github.com/pequod-io/pequod/test/process"
)

// graphs are ResourceGraphs, whose status the test writes in place of an applier.
const graphs = "platform.pequod.io/v1alpha1"

// graph creates a ResourceGraph.
func (e *env) graph(t *testing.T, name string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: %[1]s}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Web, name: %[1]s}
  platformRef: {module: web}
  renderHash: x
  graph: {nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}]}`, name))
}

// executed writes the history of a graph: attempts of its first revision.
func (e *env) executed(t *testing.T, name string, from, to int) {
	t.Helper()
	var all []any
	for n := to; n >= from; n-- {
		all = append(all, map[string]any{
			"revision": 1, "attempt": n, "reason": "Drift", "hash": "sha256:a", "result": "Completed", "nodes": 1, "updated": 1,
			"finishedAt": "2026-03-01T12:00:00Z", "duration": "1.5s", "message": "1 object is ready", "created": 0, "deleted": 0,
		})
	}
	e.SetStatus(t, graphs, "ResourceGraph", name, map[string]any{"history": all})
}

// rows waits until a query selects n rows.
func rows(t *testing.T, server *postgres.Server, n int, query string) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		if got := server.Count("SELECT count(*) FROM " + query); got != n {
			return fmt.Errorf("%s: %d rows, want %d", query, got, n)
		}
		return nil
	})
}

// TestHistory stores revisions, runs and Events in PostgreSQL, each once. While the database is
// away, Actions run, and what happens is stored later, also of objects that are deleted
// meanwhile. What left the status by then is counted. A restart stores nothing twice.
func TestHistory(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	e := newEnv(t)
	process.Pequod(t, e.Cluster, 0, "install", "--crds-only")
	e.Apply(t, process.Component(t, "../../config/actions/components/history/role.yaml"))
	p := e.run(t, "--history-url-file="+server.URLFile)
	for _, name := range []string{"web", "going"} {
		e.graph(t, name)
		e.executed(t, name, 1, 2)
	}
	e.action(t, "db", "1", "")
	e.status(t, "db", reason("RunSucceeded"))
	harness.Eventually(t, patience, func(context.Context) error { // the tables may not exist yet
		if !strings.Contains(p.Log.String(), "Starting workers") {
			return fmt.Errorf("no workers")
		}
		return nil
	})
	rows(t, server, 1, "pg_tables WHERE tablename = 'events'")
	rows(t, server, 4, "revisions WHERE reason = 'Drift' AND duration_ms = 1500 AND updated = 1")
	rows(t, server, 1, "runs WHERE name = 'db' AND reason = 'Spec' AND result = 'Succeeded'")
	rows(t, server, 1, "events WHERE name = 'db' AND kind = 'Action' AND reason = 'ApplySucceeded'")

	server.Kill()
	e.executed(t, "web", 5, 14) // 3 and 4 were there and are lost
	e.executed(t, "going", 1, 3)
	if err := e.Await(t, graphs, "ResourceGraph", "").Delete(t.Context(), "going", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.action(t, "later", "1", "")
	e.status(t, "later", reason("RunSucceeded"))
	harness.Eventually(t, patience, func(context.Context) error {
		if !strings.Contains(p.Log.String(), "history in PostgreSQL") {
			return fmt.Errorf("no error is logged")
		}
		return nil
	})
	server.Run()
	rows(t, server, 12, "revisions WHERE name = 'web'")
	rows(t, server, 3, "revisions WHERE name = 'going'")
	rows(t, server, 1, "runs WHERE name = 'later'")
	// Rows are counted after they are stored.
	e.metrics(t, p, `pequod_history_missed_total{table="revisions"} 2`, `pequod_history_stored_total{table="revisions"} 15`, `pequod_history_stored_total{table="runs"} 2`)
	p.Stop(t)
	if strings.Contains(p.Log.String(), postgres.Password) {
		t.Error("the log has the password")
	}
	p = e.run(t, "--history-url-file="+server.URLFile, "--history-retention=1000000h")
	e.executed(t, "web", 6, 15)
	rows(t, server, 13, "revisions WHERE name = 'web'")
	rows(t, server, 2, "runs")
}

// scrape returns the metrics of the program, as an account that may read them.
func (e *env) scrape(t *testing.T, p *process.Process) (text string) {
	t.Helper()
	role := e.Unique("metrics-reader")
	e.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: reader, namespace: %[2]s}]`, role, e.Namespace))
	reader := e.ServiceAccount(t, e.Namespace, "reader")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		code, body, err := process.Get(ctx, "https://"+p.Metrics+"/metrics", reader.BearerToken)
		if err != nil || code != http.StatusOK {
			return fmt.Errorf("%d: %v", code, err)
		}
		text = body
		return nil
	})
	return text
}

// metrics waits until the metrics of the program have lines: what a test sees of the program may not be
// counted yet.
func (e *env) metrics(t *testing.T, p *process.Process, lines ...string) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		text := e.scrape(t, p)
		for _, line := range lines {
			if !strings.Contains(text, line+"\n") {
				return fmt.Errorf("the metrics have no %s", line)
			}
		}
		return nil
	})
}

// TestHistoryFlags checks the flags of the history.
func TestHistoryFlags(t *testing.T) {
	t.Parallel()
	for _, o := range []historyOptions{
		{retention: -1}, {retention: 1}, {urlFile: "/none"}, {urlFile: "history_test.go"},
	} {
		if err := o.check(); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if err := (&historyOptions{}).check(); err != nil {
		t.Error(err)
	}
}
