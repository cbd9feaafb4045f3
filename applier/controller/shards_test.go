package controller_test

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// TestSelector runs two appliers with disjoint selectors. Each executes its graphs. A
// graph that no selector matches is left alone until its labels match again.
func TestSelector(t *testing.T) {
	t.Parallel()
	const key = "sharding.fluxcd.io/key"
	main := idle(t, harness.Start(t))
	main.options.Selector = selector(t, "!"+key)
	shard := *main
	shard.options.Selector = selector(t, key+"=shard1")

	main.apply(main.rendered("there", nodes(configMap("a", "there", "1"))))
	main.merge("there", `{"metadata": {"labels": {"`+key+`": "shard1"}}}`)
	main.start(main.Config)
	main.apply(main.rendered("here", nodes(configMap("a", "here", "1"))))
	main.ready("here")
	if main.exists(t.Context(), "v1", "ConfigMap", "there") {
		t.Error("a graph was executed that doesn't match the selector")
	}
	shard.start(shard.Config)
	shard.ready("there")

	// No applier executes the graph.
	main.merge("here", `{"metadata": {"labels": {"`+key+`": "none"}}}`)
	changed := main.apply(main.rendered("here", nodes(configMap("a", "here", "2"))))
	for name, of := range map[string]*env{"witness": main, "witness1": &shard} {
		rg := main.rendered(name, nodes(configMap("a", name, "1")))
		if of == &shard {
			rg.Labels = map[string]string{key: "shard1"}
		}
		main.apply(rg)
		main.ready(name) // the appliers have seen that the other graph left
	}
	left, err := main.get(t.Context(), "here")
	switch {
	case err != nil:
		t.Fatal(err)
	case !slices.Equal(left.Finalizers, changed.Finalizers) || len(left.Finalizers) == 0:
		t.Errorf("finalizers: %v, before %v", left.Finalizers, changed.Finalizers)
	case left.Status.ObservedGeneration == left.Generation || main.data(t.Context(), "here") != "1":
		t.Error("the graph was executed after its labels had changed")
	}
	main.remove("here")
	main.remove("witness")
	main.gone("witness")
	if rg, err := main.get(t.Context(), "here"); err != nil || len(rg.Finalizers) == 0 || !main.exists(t.Context(), "v1", "ConfigMap", "here") {
		t.Errorf("the graph doesn't wait for its applier: %v", err)
	}

	// The other applier takes it over.
	main.merge("here", `{"metadata": {"labels": {"`+key+`": "shard1"}}}`)
	main.gone("here")
	main.wantExists(false, "v1", "ConfigMap", "here")
}

// TestGraphLeavesInItsFirstExecution changes the labels of a graph before its first execution has
// ended. The graph exists, so what was created by then stays.
func TestGraphLeavesInItsFirstExecution(t *testing.T) {
	t.Parallel()
	const key = "sharding.fluxcd.io/key"
	b := idle(t, harness.Start(t))
	b.options.Selector = selector(t, "!"+key)
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.applierConfig()))
	proxy.Inject(faults.Rule{
		Verbs: []string{"apply"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Delay{For: 10 * time.Second}},
	})
	applied := b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"))))
	b.eventually("the first object is being applied", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "apply" && r.Resource == "configmaps" }) > 0
	})
	b.merge("web", `{"metadata": {"labels": {"`+key+`": "none"}}}`)
	b.eventually("the first object is applied", func(ctx ctx) bool { return b.exists(ctx, "v1", "ConfigMap", "a") })
	uid := b.uid("a")
	b.quiet(proxy)
	if b.exists(t.Context(), "v1", "ConfigMap", "b") {
		t.Error("the applier goes on although the labels don't match")
	}
	if n := proxy.Count(func(r faults.Request) bool { return r.Verb == "delete" }); n > 0 {
		t.Errorf("the applier deletes objects of a graph that exists:\n%s", shown(proxy.Requests()))
	}
	proxy.Inject()
	b.merge("web", `{"metadata": {"labels": {"`+key+`": null}}}`)
	if rg := b.ready("web"); rg.UID != applied.UID || b.uid("a") != uid {
		t.Error("the object was created again")
	}
}

// TestMoveBetweenAppliers moves a graph from one running applier to another. From then on
// only the other one writes its objects and its status. An object that moves to a graph of
// another applier is handed over.
func TestMoveBetweenAppliers(t *testing.T) {
	t.Parallel()
	const key = "sharding.fluxcd.io/key"
	main := idle(t, harness.Start(t))
	main.options.PruneGrace = time.Hour
	proxy := main.Proxy(t, 1)
	shard := *main
	main.options.Selector, shard.options.Selector = selector(t, "!"+key), selector(t, key+"=shard1")
	main.start(proxy.Config(main.applierConfig()))
	shard.start(shard.Config)
	sharded := func(rg *v1alpha1.ResourceGraph) *v1alpha1.ResourceGraph {
		rg.Labels = map[string]string{key: "shard1"}
		return rg
	}
	main.apply(main.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	main.ready("web")
	uids := []string{main.uid("a"), main.uid("b")}

	main.apply(sharded(main.rendered("web", nodes(configMap("a", "a", "2"), configMap("b", "b", "1")))))
	main.ready("web")
	main.apply(main.rendered("witness", nodes(configMap("w", "w", "1"))))
	main.ready("witness") // the first applier has seen that the graph left
	main.quiet(proxy)
	proxy.Reset()
	main.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"drift"}}`)
	main.eventually("corrected", func(ctx ctx) bool { return main.data(ctx, "a") == "2" })
	main.quiet(proxy)
	if n := proxy.Count(func(r faults.Request) bool { return r.Name == "web" || r.Name == "a" || r.Name == "b" }); n > 0 {
		t.Errorf("the first applier sent %d requests:\n%s", n, shown(proxy.Requests()))
	}

	main.apply(main.rendered("witness", nodes(configMap("w", "w", "1"), configMap("b", "b", "1"))))
	main.until("witness", condition("Stalled", "True", "OwnedElsewhere", "web"))
	main.apply(sharded(main.rendered("web", nodes(configMap("a", "a", "2")))))
	main.until("witness", lists("ConfigMap b, ConfigMap w", isReady))
	main.until("web", lists("ConfigMap a", isReady))
	if got := []string{main.uid("a"), main.uid("b")}; !slices.Equal(got, uids) {
		t.Errorf("objects were deleted and created again: %v; before %v", got, uids)
	}
}

// TestRolesInANamespace runs an applier for one namespace whose rights are those of the
// installed ClusterRole, bound in that namespace alone.
func TestRolesInANamespace(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	text, err := os.ReadFile("../../config/applier/base/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ = bytes.Cut(text, []byte("\n---\n"))
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatal(err)
	}
	watches := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch"}}
	b.account("applier", append(role.Rules, watches)...)
	b.options.Resync = time.Hour // nothing is polled in time
	account := b.ServiceAccount(t, b.Namespace, "applier")
	b.start(account)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), lostSecret)))
	b.ready("web")
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
	b.event("web", "DriftCorrected", "ConfigMap "+b.Namespace+"/a")
	b.stop()
	b.mergeStatus("web", map[string]any{"inventory": nil, "history": nil, "nodeStates": nil, "conditions": nil})
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.start(account)
	b.until("web", lists("ConfigMap a", isReady))
	b.wantExists(false, "v1", "Secret", "left")
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
