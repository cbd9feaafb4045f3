package applier_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/localapply"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// writes collects the requests that aren't reads: "dry PATCH" for a dry run, "PATCH"
// otherwise.
type writes struct {
	mu   sync.Mutex
	seen map[string]int
	next http.RoundTripper
}

func (w *writes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		text := r.Method
		if r.URL.Query().Get("dryRun") == "All" || r.Method == http.MethodDelete && dryBody(r) {
			text = "dry " + text
		}
		w.mu.Lock()
		w.seen[text]++
		w.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

// dryBody reads the options of a DELETE, which are in its body.
func dryBody(r *http.Request) bool {
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var b strings.Builder
	buf := make([]byte, 1<<12)
	n, _ := body.Read(buf)
	b.Write(buf[:n])
	return strings.Contains(b.String(), "All")
}

// TestNothingIsWritten checks that Plan and Status write nothing, for a graph with
// objects to create, change, correct, recreate, adopt, hand over and remove.
func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	const before = `
nodes:
- id: changed
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {a: b}}
- id: fixed
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}, data: {a: b}, immutable: true}
  applyPolicy: {recreate: OnImmutable}
- id: gone
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}
- id: left
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: left}}
  applyPolicy: {deletionPolicy: Orphan}
`
	const after = `
nodes:
- id: new
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: new}}
- id: changed
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: changed}, data: {a: c}}
- id: fixed
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}, data: {a: c}, immutable: true}
  applyPolicy: {recreate: OnImmutable}
- id: found
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: found}, data: {a: b}}
  applyPolicy: {mode: Adopt, conflictPolicy: Force}
`
	applied(t, a, parse(t, c, "all", before))
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: found}, data: {a: x}}`)

	log := &writes{seen: map[string]int{}}
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		log.next = next
		return log
	})
	client, err := cluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	watched := &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
	rg := parse(t, c, "all", after)

	_, lines := planOf(t, watched, rg, applier.PlanOptions{})
	want := []string{
		"new: created", "changed: configured",
		"fixed: recreated; the object that it replaces still exists; data: Forbidden: field is immutable when `immutable` is set",
		"found: adopted takes data.a of harness",
		"ConfigMap gone: deleted", "ConfigMap left: released",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if log.seen["PATCH"]+log.seen["DELETE"]+log.seen["POST"]+log.seen["PUT"] > 0 || log.seen["dry PATCH"] == 0 || log.seen["dry DELETE"] == 0 {
		t.Errorf("the requests of a plan: %v", log.seen)
	}
	clear(log.seen)
	planOf(t, watched, rg, applier.PlanOptions{NoDryRun: true})
	if _, err := watched.Status(t.Context(), rg); err != nil {
		t.Fatal(err)
	}
	if _, err := watched.StatusOf(t.Context(), inventory.Owner{Namespace: c.Namespace, Name: "all"}); err != nil {
		t.Fatal(err)
	}
	if len(log.seen) > 0 {
		t.Errorf("the requests of a plan without dry runs, and of states: %v", log.seen)
	}
	applied(t, a, rg) // nothing changed, so the plan can be applied
}

// TestReadOnlyAccount checks that one refused dry run for a kind and namespace is
// enough: all other objects are merged here, and the plan is that of a dry run.
func TestReadOnlyAccount(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	a := newApplier(t, c)
	graph := func(value string, count int) *v1alpha1.ResourceGraph {
		text := "nodes:\n"
		for i := range count {
			text += fmt.Sprintf("- {id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%d}, data: {a: %s}}}\n", i, i, value)
		}
		return parse(t, c, "many", text)
	}
	applied(t, a, graph("b", 12))

	config := c.ServiceAccount(t, c.Namespace, "reader")
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: `+c.Namespace+`}]
`)
	log := &writes{seen: map[string]int{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		log.next = next
		return log
	})
	client, err := cluster.New(config)
	if err != nil {
		t.Fatal(err)
	}
	reader := &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
	fallback := cluster.NewFallback(localapply.New(func() (openapi.ClientWithContext, error) {
		return openapi.NewClientWithContext(client.REST()), nil
	}))
	changed := graph("c", 8) // and four objects left
	_, want := planOf(t, a, changed, applier.PlanOptions{})
	_, got := planOf(t, reader, changed, applier.PlanOptions{Fallback: fallback})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"dry PATCH": 1}, log.seen); diff != "" {
		t.Errorf("the requests of the plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"configmaps"}, fallback.Denied()); diff != "" {
		t.Error(diff)
	}
}

// TestPlanRetries plans while the API server fails transiently.
func TestPlanRetries(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	rg := parse(t, c, "web", plannedGraph)
	proxy := c.Proxy(t, 3)
	a := envOn(t, c, proxy.Config(c.Config)).applier
	trouble := []faults.Fault{faults.Status{Code: http.StatusInternalServerError}}
	proxy.Inject(
		faults.Rule{Verbs: []string{"list"}, Times: 2, Faults: trouble},
		faults.Rule{Verbs: []string{"apply"}, Times: 3, Faults: trouble},
	)
	_, lines := planOf(t, a, rg, applier.PlanOptions{})
	want := []string{
		"config: created", "deployment: created", "service: created",
		"late: created ?data.ip ?data.port; data.ip is known after the apply",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(proxy.Faults()) == 0 {
		t.Error("nothing failed")
	}
}
