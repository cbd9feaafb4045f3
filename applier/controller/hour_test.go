package controller_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
)

// scaled is a clock of an applier that is faster or slower than the clock on the wall.
// All that the applier does at a time or after a time comes sooner or later by this
// factor: retries, damping, polling, and looking at objects again. The API server
// answers as fast as ever, so what waits for nothing but answers takes its time: a loop
// without damping makes thousands of requests in 15 seconds, whatever the clock says.
type scaled struct {
	began  time.Time
	factor float64
}

func (s scaled) Now() time.Time { return s.began.Add(scale(time.Since(s.began), s.factor)) }
func (s scaled) Until(t time.Time) time.Duration {
	return scale(t.Sub(s.Now()), 1/s.factor)
}

func scale(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }

// factor makes an hour pass in 15 seconds.
const factor = 240

// hours waits until a number of hours has passed by a scaled clock.
func hours(n int, factor float64) { time.Sleep(scale(time.Duration(n)*time.Hour, 1/factor)) }

// mostPerHour is how many requests a graph may cost in an hour at which it is tried
// in vain.
const mostPerHour = 60

// hourly is a test of the requests of graphs in an hour.
type hourly struct {
	sort    hostile.Sort // of a number of graphs
	graphs  int
	yaml    string // of the nodes of another graph
	account string // of that graph
	prepare func(b *env)
	then    func(b *env, graph *v1alpha1.ResourceGraph) // what happens to each graph when it is ready
	warm    int                                         // hours until the graph is damped
	says    string
}

// Graphs that react to themselves, to each other or to others, and graphs that fail,
// cost few requests after a while, and their status says why.
func TestRequestsPerHour(t *testing.T) {
	t.Parallel()
	var secrets []string
	for i := range 2000 {
		secrets = append(secrets, fmt.Sprintf("{id: n%d, resource: {apiVersion: v1, kind: Secret, metadata: {name: n%d}}}", i, i))
	}
	var unwatched, existing []string
	for i := range graph.MaxExternalRefs {
		unwatched = append(unwatched, fmt.Sprintf("{id: n%d, externalRef: {apiVersion: v1, kind: Secret, name: n%d}}", i, i))
		existing = append(existing, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: n%d}}", i))
	}
	var kept, immutable []string
	for i := range 200 {
		kept = append(kept, configMap(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), "1"))
		immutable = append(immutable, fmt.Sprintf(`{id: n%d, applyPolicy: {recreate: OnImmutable}, resource: {apiVersion: v1, kind: ConfigMap, immutable: true,
			metadata: {name: n%d, labels: {hangs: "true"}}, data: {a: "1"}}}`, i, i))
	}
	deletionsFail := func(b *env) { hostile.Unanswered(b.t, b.Cluster, "https://127.0.0.1:1", nil, "DELETE") }
	reads := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list"}}
	// The tests run at the same time, whatever -parallel is, because they wait for minutes. Only few
	// begin at once.
	var all sync.WaitGroup
	defer all.Wait()
	begins := make(chan struct{}, 3)
	for name, test := range map[string]hourly{
		"read each other": {
			sort: hostile.Mutual, graphs: 2, warm: 1, says: dampedText,
			prepare: func(b *env) { b.Apply(b.t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: mutual-0}}`) },
		},
		"deleted by others": {
			sort: hostile.Deleted, graphs: 1, warm: 1, says: dampedText,
			prepare: func(b *env) { hostile.Disturb(b.t, b.Cluster) },
		},
		"deleted by the garbage collector": {
			yaml: `{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences:
				[{apiVersion: v1, kind: ConfigMap, name: kube-root-ca.crt, uid: 11111111-1111-1111-1111-111111111111}]}}}`,
			warm: 1, says: "its owner ConfigMap kube-root-ca.crt with UID 11111111-1111-1111-1111-111111111111 doesn't exist",
		},
		"failing": {
			sort: hostile.Failing, graphs: 1, warm: 3, says: "cannot create resource",
			prepare: func(b *env) { b.account(hostile.Weak) },
		},
		"failing node by node": {
			yaml: strings.Join(secrets, ", "), account: hostile.Weak, warm: 3, says: "is forbidden",
			prepare: func(b *env) {
				b.account(hostile.Weak, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
			},
		},
		"never ready": {
			yaml: `{id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {app: a}},
				template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "app:missing"}]}}}}},
				{id: b, resource: {apiVersion: v1, kind: Secret, metadata: {name: b}}},
				{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}, readyWhen: [{type: Expression, expr: object.data.x == "x"}]}`,
			warm: 3, says: "image app:missing can't be pulled",
		},
		"reading what can't be watched": {
			yaml: strings.Join(unwatched, ", "), account: "reader", warm: 3, says: "doesn't exist",
			prepare: func(b *env) { b.account("reader", reads) },
		},
		"ready, with what can't be watched": {
			yaml: strings.Join(unwatched[:20], ", "), account: "reader", warm: 3, says: "20 objects are ready",
			prepare: func(b *env) {
				b.account("reader", reads)
				b.Apply(b.t, strings.Join(existing[:20], "\n---\n"))
			},
		},
		"refused by a webhook that doesn't answer": {
			sort: hostile.Hanging, graphs: 1, warm: 3, says: "failed calling webhook",
			prepare: func(b *env) { hostile.Unanswered(b.t, b.Cluster, "https://127.0.0.1:1", nil, "CREATE", "UPDATE") },
		},
		"deleted, with a webhook that doesn't answer": {
			sort: hostile.Hanging, graphs: 1, warm: 3, says: "failed calling webhook",
			then: func(b *env, rg *v1alpha1.ResourceGraph) {
				deletionsFail(b)
				b.remove(rg.Name)
			},
		},
		"pruned, with a webhook that doesn't answer": {
			sort: hostile.Hanging, graphs: 1, warm: 3, says: "failed calling webhook",
			then: func(b *env, rg *v1alpha1.ResourceGraph) {
				deletionsFail(b)
				rg.Spec.Graph.Nodes = rg.Spec.Graph.Nodes[:1]
				b.apply(rg)
			},
		},
		"recreated, with a webhook that doesn't answer": {
			yaml: strings.Join(immutable, ", "), warm: 3, says: "failed calling webhook",
			then: func(b *env, rg *v1alpha1.ResourceGraph) {
				deletionsFail(b)
				b.apply(b.rendered(rg.Name, nodes(strings.ReplaceAll(strings.Join(immutable, ", "), `{a: "1"}`, `{a: "2"}`))))
			},
		},
		"deleted, without the right to": {
			yaml: strings.Join(kept, ", "), account: "keeper", warm: 3, says: "is forbidden",
			prepare: func(b *env) {
				b.account("keeper", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch"}})
			},
			then: func(b *env, rg *v1alpha1.ResourceGraph) { b.remove(rg.Name) },
		},
	} {
		all.Go(func() { t.Run(name, func(t *testing.T) { test.run(t, begins) }) })
	}
}

// run creates the graphs of a test, and counts their requests in an hour when they are damped. Until
// the status says why, it holds a place in begins.
func (test hourly) run(t *testing.T, begins chan struct{}) {
	begins <- struct{}{}
	begun := sync.OnceFunc(func() { <-begins })
	defer begun()
	b := idle(t, harness.Start(t))
	factor := float64(factor)
	if test.says == dampedText {
		// By a faster clock, writes on a busy machine seem too rare to be damped. The other tests
		// take as long.
		factor /= 6
	}
	b.options.Clock, b.options.Relist = scaled{time.Now(), factor}, 0
	b.account("applier", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	b.bindCluster("applier", b.watchNoSecrets())
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.ServiceAccount(t, b.Namespace, "applier")))
	if test.prepare != nil {
		test.prepare(b)
	}
	var graphs []*v1alpha1.ResourceGraph
	for i := range test.graphs {
		graphs = append(graphs, hostile.Graph(b.Namespace, test.sort, i))
	}
	if test.yaml != "" {
		graphs = append(graphs, b.rendered("web", nodes(test.yaml), as(test.account)))
	}
	var names []string
	for _, rg := range graphs {
		names = append(names, b.apply(rg).Name)
		if test.then != nil {
			b.ready(rg.Name)
			test.then(b, rg)
		}
	}
	says := func(ctx context.Context) error {
		var texts []string
		for _, name := range names {
			rg, err := b.get(ctx, name)
			if err != nil {
				return err
			}
			texts = append(texts, messages(rg))
		}
		if text := strings.Join(texts, "\n"); !strings.Contains(text, test.says) {
			return fmt.Errorf("the status says %.2000s; want %s", text, test.says)
		}
		return nil
	}
	// On a slow machine, the first writes take more than an hour of the scaled clock.
	harness.Eventually(t, b.patience, says)
	begun()
	hours(test.warm, factor)
	t.Logf("while it is being damped:\n%s", summary(counted(proxy)))
	// On a busy machine, fewer tries have begun by now, and their pauses still grow.
	for again := 5; ; again-- {
		proxy.Reset()
		hours(1, factor)
		requests := counted(proxy)
		t.Logf("%d graphs made %d requests in an hour:\n%s", len(names), len(requests), summary(requests))
		if len(requests) <= mostPerHour*len(names) {
			break
		}
		if again == 0 {
			t.Errorf("%d graphs made %d requests in an hour", len(names), len(requests))
			break
		}
	}
	harness.Eventually(t, b.patience, says)
	events, err := b.Client.EventsV1().Events(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mine := slices.DeleteFunc(events.Items, func(e eventsv1.Event) bool { return e.Regarding.Kind != "ResourceGraph" })
	if len(mine) > 20*len(names)*(test.warm+1) {
		t.Errorf("%d Events", len(mine))
	}
}

// watchNoSecrets returns a cluster role with the rights of an installed applier.
func (b *env) watchNoSecrets() string {
	name := b.Unique("hour")
	b.Apply(b.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %s}
rules:
- {apiGroups: [platform.pequod.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts], verbs: [get, list, watch, impersonate]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: ["", apps], resources: [configmaps, deployments], verbs: [get, list, watch]}
`, name))
	b.t.Cleanup(func() { _ = b.Client.RbacV1().ClusterRoles().Delete(b.background(), name, metav1.DeleteOptions{}) })
	return name
}

// messages returns the messages in the status of a graph.
func messages(rg *v1alpha1.ResourceGraph) string {
	var text []string
	for _, c := range rg.Status.Conditions {
		text = append(text, c.Message)
	}
	for _, s := range rg.Status.NodeStates {
		text = append(text, s.Message)
	}
	return strings.Join(text, "\n")
}

// counted returns the requests without discovery and watches, which graphs share.
func counted(proxy *faults.Proxy) []faults.Request {
	return slices.DeleteFunc(proxy.Requests(), func(r faults.Request) bool { return r.Continues || r.Discovery() || r.Verb == "watch" })
}

// summary counts requests by verb and resource.
func summary(requests []faults.Request) string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[r.Verb+" "+r.Resource]++
	}
	var text []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		text = append(text, fmt.Sprintf("%d %s", counts[key], key))
	}
	return strings.Join(text, "\n")
}
