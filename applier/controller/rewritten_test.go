package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// advance makes the versions of the cluster so high that a restored cluster doesn't
// reach them during the test.
func (b *env) advance() {
	b.t.Helper()
	b.Apply(b.t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: advance}}`)
	for i := range 600 {
		b.patch("v1", "ConfigMap", "advance", "somebody", fmt.Sprintf(`{"data":{"i":"%d"}}`, i))
	}
}

// managed returns the names of the ConfigMaps that carry the label of graphs.
func (b *env) managed(ctx ctx) string {
	list, err := b.Client.CoreV1().ConfigMaps(b.Namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelManaged + "=true"})
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// etcd is restored from a backup under a running applier. The applier takes note and
// converges without a restart.
func TestClusterIsRestored(t *testing.T) {
	t.Parallel()
	for _, elect := range []bool{false, true} {
		t.Run(fmt.Sprintf("election=%t", elect), func(t *testing.T) {
			t.Parallel()
			b := idle(t, harness.StartOwn(t))
			reg := prometheus.NewPedanticRegistry()
			b.options.Metrics = metrics.New(reg)
			b.manager = func(o *manager.Options) {
				o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = elect, "applier", b.Namespace
				// A lease that outlasts the restore is the hard case: otherwise the process
				// ends, and the next one begins without knowledge.
				o.LeaseDuration, o.RenewDeadline = new(20*time.Minute), new(15*time.Minute)
				o.LeaderElectionReleaseOnCancel = true
			}
			b.start(b.Config)
			b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
			b.apply(b.rendered("doomed", nodes(configMap("d", "d", "1"))))
			b.ready("web")
			b.ready("doomed")
			doomed := b.uid("d")
			backup := b.Backup(t)
			b.ready("web")

			b.apply(b.rendered("web", nodes(configMap("a", "a", "2"), configMap("c", "c", "1"))))
			b.apply(b.rendered("young", nodes(configMap("y", "y", "1"))))
			b.ready("web")
			b.ready("young")
			b.remove("doomed")
			b.gone("doomed")
			b.eventually("pruned", func(ctx ctx) bool { return b.managed(ctx) == "a c y" })
			b.advance()
			b.Restore(t, backup, nil)

			// Drift is corrected, although its version is older than the known one.
			harness.Eventually(t, b.patience, func(context.Context) error {
				if got := b.managed(t.Context()); got != "a b d" {
					return fmt.Errorf("objects %s", got)
				}
				return nil
			})
			b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"drift"}}`)
			b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
			// A spec of a generation that was seen before is executed.
			if rg := b.apply(b.rendered("web", nodes(configMap("a", "a", "3"), configMap("b", "b", "1")))); rg.Generation != 2 {
				t.Fatalf("generation %d isn't one of before the restore", rg.Generation)
			}
			b.eventually("executed", func(ctx ctx) bool { return b.data(ctx, "a") == "3" })
			b.ready("web")
			b.ready("doomed")
			if got := b.uid("d"); got != doomed {
				t.Errorf("the object of a graph that exists again was replaced: uid %s; want %s", got, doomed)
			}
			if _, err := b.get(t.Context(), "young"); !apierrors.IsNotFound(err) {
				t.Errorf("a graph that was made after the backup: %v", err)
			}
			if n := rewrites(t, reg); n != 1 {
				t.Errorf("the history was rewritten %g times", n)
			}
			if got := series(t, reg); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, b.Namespace+"/young") }) {
				t.Errorf("series of a graph that never existed: %s", got)
			}
			// What exists again is deleted with its graph.
			b.apply(b.rendered("web", nodes(configMap("a", "a", "3"))))
			b.eventually("pruned", func(ctx ctx) bool { return b.managed(ctx) == "a d" })
			for _, name := range []string{"web", "doomed"} {
				b.remove(name)
				b.gone(name)
			}
			if got := b.managed(t.Context()); got != "" {
				t.Errorf("left: %s", got)
			}
		})
	}
}

// rewrites returns how often the history was rewritten, as the metrics tell.
func rewrites(t *testing.T, reg prometheus.Gatherer) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pequod_history_rewrites_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("no metric counts it")
	return 0
}

// What was about to be done when etcd was restored isn't done afterwards: the graphs
// may not want it any more.
func TestStaleWorkIsDropped(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.StartOwn(t))
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.apply(b.rendered("less", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.apply(b.rendered("more", nodes(configMap("c", "c", "1"))))
	b.apply(b.rendered("doomed", nodes(configMap("d", "d", "1"))))
	for _, name := range []string{"less", "more", "doomed"} {
		b.ready(name)
	}
	before := []string{b.uid("b"), b.uid("d")}
	backup := b.Backup(t)
	for _, name := range []string{"less", "more", "doomed"} {
		b.ready(name)
	}
	b.advance()

	// Requests that the API server refuses are repeated.
	refused := faults.Status{Code: 500}
	proxy.Inject(
		faults.Rule{Verbs: []string{"delete"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{refused}},
		faults.Rule{Verbs: []string{"apply"}, Resources: []string{"configmaps"}, Names: []string{"e"}, Faults: []faults.Fault{refused}},
	)
	proxy.Reset()
	b.apply(b.rendered("less", nodes(configMap("a", "a", "1"))))
	b.apply(b.rendered("more", nodes(configMap("c", "c", "1"), configMap("e", "e", "1"))))
	b.remove("doomed")
	pending := map[string]string{"b": "delete", "d": "delete", "e": "apply"}
	for name, verb := range pending {
		b.eventually("tried", func(ctx) bool {
			return proxy.Count(func(r faults.Request) bool { return r.Verb == verb && r.Name == name }) > 0
		})
	}
	// Nothing can be listed for a while.
	b.Restore(t, backup, func() {
		proxy.Inject(faults.Rule{Verbs: []string{"list", "watch"}, Faults: []faults.Fault{refused}})
		proxy.Reset()
	})
	b.eventually("graphs can't be listed", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool {
			return r.Fault != "" && r.Resource == "resourcegraphs.platform.pequod.io"
		}) > 6
	})
	// Meanwhile no graph is read or written.
	requests := proxy.Count(func(r faults.Request) bool { return r.Fault == "" && !r.Discovery() })
	if requests > 5 {
		t.Errorf("%d requests before the graphs are listed", requests)
	}
	proxy.Inject()
	for _, name := range []string{"less", "more", "doomed"} {
		b.until(name, func(rg *v1alpha1.ResourceGraph) error {
			if rg.Generation != 1 || rg.DeletionTimestamp != nil {
				return fmt.Errorf("generation %d, deleted %v", rg.Generation, rg.DeletionTimestamp)
			}
			return isReady(rg)
		})
	}
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"drift"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
	for name, verb := range pending {
		if n := proxy.Count(func(r faults.Request) bool { return r.Verb == verb && r.Name == name }); n > 0 {
			t.Errorf("%d requests to %s %s after the restore", n, verb, name)
		}
	}
	if got := b.managed(t.Context()); got != "a b c d" || b.uid("b") != before[0] || b.uid("d") != before[1] {
		t.Errorf("objects %s; b or d may have been replaced", got)
	}
}

// A restored cluster has later versions than before, because they were increased, as
// etcdutl does if it is asked to, or because others were quick to write.
func TestVersionsOfARestoreAreIncreased(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.StartOwn(t))
	reg := prometheus.NewPedanticRegistry()
	b.options.Metrics = metrics.New(reg)
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("web")
	backup := b.Backup(t)
	b.ready("web")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"))))
	b.ready("web")
	b.eventually("pruned", func(ctx ctx) bool { return b.managed(ctx) == "a" })
	b.Restore(t, backup, func() {
		if err := proxy.Down(); err != nil {
			t.Error(err)
		}
	})
	b.advance()
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, b.patience, func(context.Context) error {
		if n := rewrites(t, reg); n != 1 {
			return fmt.Errorf("the history was rewritten %g times", n)
		}
		return nil
	})
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"drift"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
	if rg := b.apply(b.rendered("web", nodes(configMap("a", "a", "3")))); rg.Generation != 2 {
		t.Fatalf("generation %d isn't one of before the restore", rg.Generation)
	}
	b.eventually("executed", func(ctx ctx) bool { return b.data(ctx, "a") == "3" && b.managed(ctx) == "a" })
	b.ready("web")
}

// An object that was leaving its graph when the backup was made, and that another graph has
// taken over since, isn't pruned at once after the restore, although its grace period is
// long over: the other graph may list it again soon.
func TestGraceBeginsAgainAfterARestore(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.StartOwn(t))
	reg, clock := prometheus.NewPedanticRegistry(), &jumpingClock{}
	b.options.Metrics, b.options.PruneGrace, b.options.Wall = metrics.New(reg), 24*time.Hour, clock.now
	b.start(b.Config)
	with := func(name string) *v1alpha1.ResourceGraph {
		return b.rendered(name, nodes(configMap("base", name+"-base", "1"), configMap("precious", "precious", "1")))
	}
	without := func(name string) *v1alpha1.ResourceGraph {
		return b.rendered(name, nodes(configMap("base", name+"-base", "1")))
	}
	b.apply(with("old"))
	b.apply(without("new"))
	b.ready("old")
	b.ready("new")
	uid := b.uid("precious")
	var since time.Time
	b.apply(without("old"))
	b.until("old", leaves("precious", &since))
	backup := b.Backup(t)
	b.apply(with("new"))
	b.until("new", lists("ConfigMap new-base, ConfigMap precious", isReady))
	b.until("old", lists("ConfigMap old-base", isReady))
	clock.jump(100 * 24 * time.Hour)
	b.advance()
	b.Restore(t, backup, nil)
	harness.Eventually(t, b.patience, func(context.Context) error {
		if n := rewrites(t, reg); n != 1 {
			return fmt.Errorf("the history was rewritten %g times", n)
		}
		return nil
	})

	b.retry("old") // so that its status isn't that of the backup
	b.until("old", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt == "" {
			return errNotYet
		}
		return leaves("precious", &since)(rg)
	})
	b.apply(with("new"))
	b.until("new", lists("ConfigMap new-base, ConfigMap precious", isReady))
	if b.uid("precious") != uid {
		t.Error("the object was deleted and created again")
	}
}
