package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// collector is a server that gets notifications or traces.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	// statuses are the status codes of the next requests; after them it is 202. What isn't accepted
	// isn't in bodies.
	statuses []int
	headers  []http.Header
}

// collect starts a collector.
func collect(t *testing.T, statuses ...int) *collector {
	t.Helper()
	c := &collector{statuses: statuses}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements [http.Handler].
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	if len(c.statuses) > 0 {
		status := c.statuses[0]
		c.statuses = c.statuses[1:]
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(status)
		return
	}
	c.bodies = append(c.bodies, body)
	w.WriteHeader(http.StatusAccepted)
}

// got returns what was accepted.
func (c *collector) got() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

// requests returns the headers of all requests.
func (c *collector) requests() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// fluxEvents decodes what was accepted as events of Flux, and fails on fields that Flux doesn't have.
func (c *collector) fluxEvents(t *testing.T) (all []eventv1.Event) {
	t.Helper()
	for _, body := range c.got() {
		var e eventv1.Event
		strict := json.NewDecoder(bytes.NewReader(body))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&e); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		all = append(all, e)
	}
	return all
}

// about waits until an event about an object with a reason was accepted, and returns it.
func (c *collector) about(t *testing.T, object, reason string) (found eventv1.Event) {
	t.Helper()
	harness.Eventually(t, patience, func(context.Context) error {
		var seen []string
		for _, e := range c.fluxEvents(t) {
			about := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
			if about == object && e.Reason == reason {
				found = e
				return nil
			}
			seen = append(seen, about+" "+e.Reason)
		}
		return fmt.Errorf("no event %s about %s: %q", reason, object, seen)
	})
	return found
}

// search searches what was accepted for values of Secrets.
func (c *collector) search(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	for _, body := range c.got() {
		cluster.SearchOutput(t.Context(), t, "what was sent", string(body))
	}
}

// notifying is a cluster in which the program may read what it reports.
func notifying(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	process.Pequod(t, e.Cluster, 0, "install", "--crds-only")
	e.Apply(t, process.Component(t, "../../config/actions/components/notifications/role.yaml"))
	return e
}

// finished writes the history of a graph: an execution that ends now.
func (e *env) finished(t *testing.T, name string, more map[string]any) {
	t.Helper()
	status := map[string]any{"history": []any{map[string]any{
		"revision": 1, "attempt": 1, "reason": "Spec", "hash": "sha256:a", "result": "Completed", "nodes": 1, "created": 1, "updated": 0, "deleted": 0,
		"finishedAt": time.Now().UTC().Format(time.RFC3339), "duration": "1.5s", "message": "1 object is ready",
	}}}
	for field, value := range more {
		status[field] = value
	}
	e.SetStatus(t, graphs, "ResourceGraph", name, status)
}

// kustomizations is the kind of Flux with the fields of its status that are read.
const kustomizations = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kustomizations.kustomize.toolkit.fluxcd.io}
spec:
  group: kustomize.toolkit.fluxcd.io
  names: {kind: Kustomization, listKind: KustomizationList, plural: kustomizations, singular: kustomization}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object}, status: {type: object, properties: {
        lastAppliedRevision: {type: string}, lastAppliedOriginRevision: {type: string}, lastAttemptedRevision: {type: string},
        conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}
`

// TestEventsOfFlux sends what happens to an Action and to a graph that Flux has applied, in the format
// of Flux, with the revision that its Kustomization has applied. The server answers 500 and 429 first. A token that the server of the Action repeats is in
// nothing that is sent, and after a restart nothing is sent again.
func TestEventsOfFlux(t *testing.T) {
	t.Parallel()
	e := notifying(t)
	c := collect(t, 500, 503)
	header := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(header, []byte("Authorization: Bearer of-the-collector\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Secret, metadata: {name: server}, stringData: {token: %s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: runner}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`, canary))
	e.graph(t, "before")
	e.executed(t, "before", 1, 2) // long ago
	e.Apply(t, kustomizations)
	e.Apply(t, "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps}, spec: {}}")
	const revision = "main@sha1:731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"
	e.SetStatus(t, "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps", map[string]any{"lastAppliedRevision": revision, "lastAttemptedRevision": revision})
	p := e.run(t, "--events-addr="+c.URL, "--events-header-file="+header, "--events-revision")
	e.host.set(func() { e.host.refuse = 422 })
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: refused}
spec:
  serviceAccountName: runner
  retry: {attempts: 0}
  http: {url: %q, auth: {tokenSecretRef: {name: server, key: token}}}
`, e.host.URL))
	got := c.about(t, "Action/refused", "ApplyFailed")
	if got.Severity != eventv1.EventSeverityError || got.InvolvedObject.Namespace != e.Namespace || got.ReportingController != name ||
		got.InvolvedObject.UID == "" || !strings.Contains(got.Message, "answers 422") || time.Since(got.Timestamp.Time) > time.Hour {
		t.Errorf("the event: %+v", got)
	}
	e.graph(t, "web")
	graph := e.Await(t, graphs, "ResourceGraph", "")
	labels := fmt.Sprintf(`{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"apps","kustomize.toolkit.fluxcd.io/namespace":%q}}}`, e.Namespace)
	if _, err := graph.Patch(t.Context(), "web", "application/merge-patch+json", []byte(labels), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.finished(t, "web", nil)
	got = c.about(t, "Kustomization/apps", "Completed")
	if want := "ResourceGraph " + e.Namespace + "/web: generation 1: 1 object is ready: created 1, updated 0, deleted 0 in 1.5s"; got.Message != want || got.Severity != "info" {
		t.Errorf("message %q; want %q", got.Message, want)
	}
	if found := got.Metadata["kustomize.toolkit.fluxcd.io/revision"]; found != revision {
		t.Errorf("revision %q: %v", found, got.Metadata)
	}
	for _, h := range c.requests() {
		if h.Get("Authorization") != "Bearer of-the-collector" {
			t.Errorf("headers: %v", h)
		}
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	before := len(c.got())

	e.host.set(func() { e.host.refuse = 0 })
	p = e.run(t, "--events-addr="+c.URL)
	e.action(t, "later", "1", "")
	c.about(t, "Action/later", "ApplySucceeded")
	c.search(t, e.Cluster)
	seen := map[string]int{}
	for i, body := range c.got() {
		seen[string(body)]++
		if seen[string(body)] > 1 || bytes.Contains(body, []byte(canary)) || bytes.Contains(body, []byte("before")) {
			t.Errorf("event %d of %d, %d of them before the restart: %s", i, len(c.got()), before, body)
		}
	}
	// The program may not have the last answer yet.
	e.metrics(t, p, `pequod_exports_dropped_total{export="events",reason="refused"} 0`, `pequod_exports_waiting{export="events"} 0`)
}

// TestCloudEvents sends CloudEvents to a server that is away, and then limits the rate. Meanwhile Actions
// run, and the program is killed. Each event has one id.
func TestCloudEvents(t *testing.T) {
	t.Parallel()
	e := notifying(t)
	c := collect(t)
	address := c.Listener.Addr().String()
	c.Listener.Close() // an error means that it is closed
	args := []string{"--events-addr=http://" + address + "/events?key=1", "--events-format=cloudevents"}
	p := e.run(t, args...)
	e.action(t, "one", "1", "")
	e.status(t, "one", reason("RunSucceeded"))
	harness.Eventually(t, patience, func(context.Context) error {
		if metrics := e.scrape(t, p); !strings.Contains(metrics, `pequod_exports_waiting{export="events"} 1`) || strings.Contains(metrics, `pequod_exports_failures_total{export="events"} 0`) {
			return fmt.Errorf("nothing waits")
		}
		return nil
	})
	// Until the time of the start is stored.
	leases := e.Await(t, "coordination.k8s.io/v1", "Lease", process.Namespace)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := leases.Get(ctx, "pequod-actions-events", metav1.GetOptions{})
		return err
	})
	_ = p.Cmd.Process.Kill() // it runs
	<-p.Done
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.statuses = []int{429, 429}
	again := &http.Server{Handler: c}
	go func() { _ = again.Serve(l) }() // until it is closed
	t.Cleanup(func() { again.Close() })
	if err := leases.Delete(t.Context(), "pequod-actions", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err) // it is that of the leader, which was killed
	}
	e.run(t, args...)
	e.action(t, "two", "2", "")
	var ids, types []string
	harness.Eventually(t, patience, func(context.Context) error {
		ids, types = nil, nil
		for _, body := range c.got() {
			got := event.New()
			if err := json.Unmarshal(body, &got); err != nil {
				return err
			}
			if err := got.Validate(); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			ids, types = append(ids, got.ID()), append(types, got.Subject()+" "+got.Type())
		}
		slices.Sort(types)
		if want := []string{e.Namespace + "/one io.pequod.action.ApplySucceeded", e.Namespace + "/two io.pequod.action.ApplySucceeded"}; !slices.Equal(types, want) {
			return fmt.Errorf("%q; want %q", types, want)
		}
		return nil
	})
	if ids[0] == ids[1] {
		t.Errorf("ids: %q", ids)
	}
	for _, h := range c.requests() {
		if h.Get("Content-Type") != event.ApplicationCloudEventsJSON || !strings.HasPrefix(h.Get("User-Agent"), name+"/") {
			t.Errorf("headers: %v", h)
		}
	}
}
