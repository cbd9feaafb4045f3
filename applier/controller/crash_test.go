package controller_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/churn"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

func TestKindIsRemoved(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.controllertest.example.com}
spec:
  group: controllertest.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	b.Apply(t, crd)
	remove := func() {
		definitions, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = definitions.Delete(b.background(), "things.controllertest.example.com", metav1.DeleteOptions{})
	}
	t.Cleanup(remove)
	thing := func(name string) string {
		return `{id: thing, resource: {apiVersion: controllertest.example.com/v1, kind: Thing, metadata: {name: ` + name + `}, spec: {x: 1}}}`
	}
	b.apply(b.rendered("web", nodes(thing("web"), configMap("a", "a", "1", "thing"))))
	b.apply(b.rendered("less", nodes(thing("less"), configMap("a", "less-a", "1"))))
	b.apply(b.rendered("going", nodes(thing("going"), configMap("a", "going-a", "1"))))
	b.apply(b.rendered("other", nodes(configMap("a", "other-a", "1"))))
	for _, name := range []string{"web", "less", "going", "other"} {
		b.ready(name)
	}
	before := b.Get(t, "controllertest.example.com/v1", "Thing", "web").GetUID()
	remove()
	unknown := condition("Ready", "False", "UnknownKind", "the cluster knows no Thing")
	for _, name := range []string{"web", "less", "going"} {
		b.until(name, unknown)
	}
	// What doesn't need it is neither undone nor left alone.
	b.wantExists(true, "v1", "ConfigMap", "a", "less-a", "going-a", "other-a")
	for _, name := range []string{"other-a", "less-a"} {
		b.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"other"}}`)
		b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, name) == "1" })
	}
	b.ready("other")
	// A graph is done with what is gone, and gone with it.
	b.apply(b.rendered("less", nodes(configMap("a", "less-a", "2"))))
	if got := owned(b.ready("less")); got != "ConfigMap less-a" {
		t.Errorf("inventory without the kind: %s", got)
	}
	b.event("less", "Orphaned", "Thing.controllertest.example.com "+b.Namespace+"/less: the cluster serves no version of its kind")
	b.remove("going")
	b.gone("going")
	b.event("going", "Orphaned", "/going: the cluster serves no version of its kind")
	b.wantExists(false, "v1", "ConfigMap", "going-a")

	b.Apply(t, crd)
	if got, want := owned(b.ready("web")), "ConfigMap a, Thing web"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	if now := b.Get(t, "controllertest.example.com/v1", "Thing", "web"); now.GetUID() == before {
		t.Error("the object outlived its definition")
	}
	b.wantExists(false, "controllertest.example.com/v1", "Thing", "less", "going")
	b.patch("controllertest.example.com/v1", "Thing", "web", "somebody", `{"spec":{"x":2}}`)
	b.eventually("corrected", func(ctx) bool {
		x, _, err := unstructured.NestedInt64(b.Get(t, "controllertest.example.com/v1", "Thing", "web").Object, "spec", "x")
		return err == nil && x == 1
	})
	remove()
	b.until("web", unknown)
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
}

func TestRestartMidway(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const graphs = 8
	for round := range 3 {
		for i := range graphs {
			name := fmt.Sprintf("g%d", i)
			text := nodes(configMap("a", name+"-a", fmt.Sprint(round)), configMap("b", name+"-b", fmt.Sprint(round), "a"),
				configMap("c", fmt.Sprintf("%s-c%d", name, round), "1", "b"))
			b.apply(b.rendered(name, text))
		}
		time.Sleep(time.Duration(50+100*round) * time.Millisecond)
		b.stop()
		b.start(b.Config)
	}
	for i := range graphs {
		name := fmt.Sprintf("g%d", i)
		rg := b.ready(name)
		if got, want := owned(rg), fmt.Sprintf("ConfigMap %s-a, ConfigMap %s-b, ConfigMap %s-c2", name, name, name); got != want {
			t.Errorf("inventory: %s; want %s", got, want)
		}
		b.wantExists(false, "v1", "ConfigMap", name+"-c0", name+"-c1")
	}
	b.stop()
	// Changes that are made while no applier runs are detected afterwards.
	b.patch("v1", "ConfigMap", "g0-a", "somebody", `{"data":{"a":"other"}}`)
	b.remove("g1")
	b.start(b.Config)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "g0-a") == "2" })
	b.gone("g1")
	b.wantExists(false, "v1", "ConfigMap", "g1-a", "g1-b", "g1-c2")
}

// TestFaults lets a fifth of the applier's requests fail while graphs are made,
// changed and deleted, and then takes the API server away; for a minute, and with
// the faults before and after, if PEQUOD_SOAK is set. Without an election, as here,
// the applier goes on.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 7)
	b.start(proxy.Config(b.applierConfig()))
	seed := uint64(time.Now().UnixNano())
	changes := churn.New(t, b.Cluster, 10, seed)
	changes.Patience = 4 * time.Minute
	steps, away := 60, 15*time.Second
	if os.Getenv("PEQUOD_SOAK") != "" {
		steps, away = 2000, time.Minute
	}
	proxy.Inject(faults.Rule{Rate: 0.2, Faults: []faults.Fault{
		faults.Status{Code: 500}, faults.Status{Code: 429}, faults.Status{Code: 429, RetryAfter: time.Second},
		faults.Status{Code: 409}, faults.Timeout{After: 100 * time.Millisecond}, faults.Drop{}, faults.Cut{}, faults.Cut{After: 20},
	}})
	for range steps {
		changes.Step()
		time.Sleep(20 * time.Millisecond)
	}
	changes.Settled()
	faults := proxy.Faults()
	if os.Getenv("PEQUOD_SOAK") == "" {
		proxy.Inject()
	}
	for range 20 {
		changes.Step()
	}
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	for back := time.Now().Add(away); time.Now().Before(back); {
		changes.Step()
		time.Sleep(500 * time.Millisecond)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	changes.Settled()
	changes.Drain()
	t.Logf("faults: %v; graphs and objects: %v", faults, changes.Counts())
	if len(faults) < 8 {
		t.Error("some faults didn't happen")
	}
}

// TestHangs lets requests go unanswered: each is given up after a while, and made
// again. PEQUOD_SOAK has more of them do so, one after the other.
func TestHangs(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 7)
	b.start(proxy.Config(b.applierConfig()))
	const graphs = "resourcegraphs.platform.pequod.io"
	hang := func(verb, resource string, names ...string) faults.Rule {
		return faults.Rule{
			Verbs: []string{verb}, Resources: []string{resource}, Names: names, Times: 1, Faults: []faults.Fault{faults.Hang{}},
		}
	}
	proxy.Inject(
		hang("patch", graphs, "finalizer"), hang("patch", graphs+"/status", "status"), hang("apply", "configmaps", "object-a"),
	)
	names := []string{"finalizer", "status", "object"}
	for _, name := range names {
		b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "1"), configMap("b", name+"-b", "1", "a"))))
	}
	for _, name := range names {
		b.ready(name)
	}
	if n := len(proxy.Faults()); n == 0 {
		t.Error("no request went unanswered")
	}
	if os.Getenv("PEQUOD_SOAK") == "" {
		return
	}
	proxy.Inject(hang("list", graphs), hang("delete", "configmaps"))
	for _, name := range names {
		b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "2"))))
	}
	for _, name := range names {
		b.ready(name)
		b.wantExists(false, "v1", "ConfigMap", name+"-b")
	}
	proxy.Inject(hang("get", graphs), hang("patch", graphs), hang("get", "serviceaccounts"))
	for _, name := range names {
		b.remove(name)
	}
	for _, name := range names {
		b.gone(name)
		b.wantExists(false, "v1", "ConfigMap", name+"-a")
	}
}
