package instance_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// A manager that finds its instances unchanged neither renders them, writes, nor reads anything but
// lists. Another build of it renders them.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	reg := prometheus.NewPedanticRegistry()
	b.metrics = metrics.New(reg).Controller("platforminstance")
	b.platform(appModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	const instances = 20
	for i := range instances {
		b.apply(fmt.Sprint("web-", i), "{text: one}")
	}
	for i := range instances {
		b.ready(fmt.Sprint("web-", i))
	}
	proxy := b.Proxy(t, 1)
	handled := func() float64 { return b.count(reg, "pequod_reconcile_total", "platforminstance") }
	b.stop()
	before := handled()
	b.start(proxy.Config(b.Config))
	b.eventually("all instances are handled", func(ctx) bool { return handled() >= before+instances })
	for i := range instances {
		if name := fmt.Sprint("web-", i); b.local.count(name) != 1 {
			t.Errorf("%s is rendered again", name)
		}
	}
	b.stop()
	b.program = "the next one"
	b.start(proxy.Config(b.Config))
	for i := range instances {
		name := fmt.Sprint("web-", i)
		b.eventually(name+" is rendered again", func(ctx) bool { return b.local.count(name) == 2 })
	}
	// The last instance was rendered, so the others are handled. This one is handled after it.
	b.apply("last", "{text: one}")
	b.ready("last")
	for _, r := range proxy.Requests() {
		ours := strings.HasPrefix(r.Resource, "resourcegraphs.") || strings.HasPrefix(r.Resource, "apps.") || strings.HasPrefix(r.Resource, "events")
		if ours && r.Verb != "list" && r.Verb != "watch" && !strings.HasPrefix(r.Name, "last") {
			t.Errorf("%s %s %s", r.Verb, r.Resource, r.Name)
		}
	}
	// The graph of a new instance isn't read before: the write fails if there is one.
	for _, r := range proxy.Requests() {
		if strings.HasPrefix(r.Name, "last") && r.Verb == "get" {
			t.Errorf("%s %s %s", r.Verb, r.Resource, r.Name)
		}
	}
}

// What has changed while no manager ran is rendered, and nothing else.
func TestRestartAfterChanges(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	names := []string{"changed", "graph", "labeled", "same"}
	for _, name := range names {
		b.apply(name, "{text: one}")
	}
	for _, name := range names {
		b.ready(name)
	}
	b.stop()
	b.apply("changed", "{text: two}")
	b.merge("labeled", `{"metadata": {"labels": {"team": "a"}}}`) // the module doesn't read labels
	edited := b.graph("graph")
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/platformRef/digest", "value": "sha256:other"}, {"op": "test", "path": "/metadata/annotations/%s", "value": %q}]`,
		strings.ReplaceAll(v1alpha1.AnnotationRendered, "/", "~1"), edited.Annotations[v1alpha1.AnnotationRendered])
	// As an administrator: the policy keeps everyone else from it.
	if _, err := b.graphs().Patch(t.Context(), edited.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.start(b.Config)
	b.ready("changed")
	b.eventually("the instance that has changed is rendered", func(ctx ctx) bool { return b.text(ctx, "changed") == "two" })
	b.eventually("the graph that was edited is as before", func(ctx) bool { return b.graph("graph").Spec.PlatformRef == edited.Spec.PlatformRef })
	for _, name := range []string{"labeled", "same"} {
		b.apply(name, "{text: three}") // after it was handled
		b.eventually(name+" follows", func(ctx ctx) bool { return b.text(ctx, name) == "three" })
		if n := b.local.count(name); n != 2 {
			t.Errorf("%s was rendered %d times", name, n)
		}
	}
}

// Whatever happens to the manager and to its requests, the cluster becomes what the instances
// demand, and no change is made twice.
func TestKills(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	proxy := b.Proxy(t, seed)
	disturb := func() {
		proxy.Inject(faults.Rule{Rate: 0.1, Faults: []faults.Fault{
			faults.Status{Code: 409}, faults.Status{Code: 429, RetryAfter: time.Second}, faults.Status{Code: 500},
			faults.Timeout{After: 10 * time.Millisecond}, faults.Cut{After: 200}, faults.Drop{},
		}})
	}
	const instances, rounds = 6, 8
	texts := map[string]string{} // of the instances that exist
	changes := map[string]int{}  // of all instances of a name: the next one may take the graph over
	change := func() {
		name := fmt.Sprint("web-", random.IntN(instances))
		if _, exists := texts[name]; exists && random.IntN(5) == 0 {
			if err := b.instances().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			delete(texts, name)
			return
		}
		text := fmt.Sprint("text-", random.IntN(1000))
		b.apply(name, "{text: "+text+", second: "+text+"}")
		texts[name] = text
		changes[name]++
	}
	for range rounds {
		disturb()
		b.start(proxy.Config(b.Config))
		for range 1 + random.IntN(4) {
			change()
			pause := time.Duration(random.IntN(300)) * time.Millisecond
			until := time.Now().Add(pause)
			b.eventually("the moment of the next change", func(ctx) bool { return !time.Now().Before(until) })
		}
		// A crash: requests that are under way get no answer.
		if err := proxy.Down(); err != nil {
			t.Fatal(err)
		}
		b.stop()
		if err := proxy.Up(); err != nil {
			t.Fatal(err)
		}
		for range random.IntN(2) {
			change()
		}
	}
	proxy.Inject()
	b.start(proxy.Config(b.Config))
	for name, text := range texts {
		b.ready(name)
		for _, cm := range []string{name, name + "-second"} {
			if got := b.text(t.Context(), cm); got != text {
				t.Errorf("ConfigMap %s has %q; want %q", cm, got, text)
			}
		}
		if rg := b.graph(name); rg.Generation > int64(changes[name]) {
			t.Errorf("graph %s has generation %d after %d changes", name, rg.Generation, changes[name])
		}
	}
	b.eventually("only the graphs and objects of instances are there", func(ctx ctx) bool {
		graphs, err := b.graphs().List(ctx, metav1.ListOptions{})
		if err != nil || len(graphs.Items) != len(texts) {
			return false
		}
		maps, err := b.Client.CoreV1().ConfigMaps(b.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "pequod.io/managed"})
		return err == nil && len(maps.Items) == 2*len(texts)
	})
}

// A conflict when the status is written is not the end: nothing else may happen to the instance.
func TestStatusConflict(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.apply("web", "{text: one}")
	b.ready("web")
	status := b.entry.Names.Plural + "." + b.entry.Names.Group + "/status"
	proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Resources: []string{status}, Times: 1, Faults: []faults.Fault{faults.Status{Code: 409}}})
	b.apply("web", "{text: two}")
	b.ready("web")
	if len(proxy.Faults()) == 0 {
		t.Error("there was no conflict")
	}
}

// An instance whose graph can't be written is never shown as ready for its new generation, and
// its status tells why if that lasts.
func TestGraphCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.apply("web", "{text: one}")
	b.ready("web")
	watch, err := b.instances().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	graphs := []string{"resourcegraphs.platform.pequod.io"}
	proxy.Inject(faults.Rule{Verbs: []string{"apply"}, Resources: graphs, Faults: []faults.Fault{faults.Status{Code: 500}}})
	generation := b.apply("web", "{text: two}").GetGeneration()
	a := b.until("web", condition("False", "GraphNotWritten", "; the ResourceGraph stays as it was before"))
	if a.Status.Phase != "Rendering" || a.Status.Outputs["text"] != "one" {
		t.Errorf("status: %+v", a.Status)
	}
	proxy.Inject()
	for event := range watch.ResultChan() {
		in, ok := event.Object.(*unstructured.Unstructured)
		if !ok || !readyOf(in, generation) {
			continue
		}
		if got := b.text(t.Context(), "web"); got != "two" {
			t.Errorf("the instance is shown as ready; ConfigMap web has %q", got)
		}
		return
	}
}
