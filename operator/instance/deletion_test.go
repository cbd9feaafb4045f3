package instance_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// Deleting an instance deletes its graph and objects, as kubectl is told to.
func TestDeletion(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			b.apply("web", "{text: one, second: two}")
			b.ready("web")
			if err := b.instances().Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			b.eventually("the instance is gone", func(ctx ctx) bool { _, err := b.read(ctx, "web"); return isGone(err) })
			if policy == metav1.DeletePropagationForeground {
				if _, err := b.readGraph(t.Context(), "web"); !isGone(err) {
					t.Errorf("the instance is gone before its graph: %v", err)
				}
			}
			b.eventually("the graph is gone", func(ctx ctx) bool { _, err := b.readGraph(ctx, "web"); return isGone(err) })
			for _, name := range []string{"web", "web-second"} {
				if got := b.text(t.Context(), name); got == "one" || got == "two" {
					t.Errorf("ConfigMap %s is still there", name)
				}
			}
		})
	}
}

// An orphaned graph goes on without its instance, and belongs to the next one of that name.
func TestOrphanDeletion(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one}")
	b.ready("web")
	b.collected()
	before := b.graph("web")
	orphan := metav1.DeletePropagationOrphan
	if err := b.instances().Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the instance is gone", func(ctx ctx) bool { _, err := b.read(ctx, "web"); return isGone(err) })
	rg := b.graph("web")
	if rg.UID != before.UID || len(rg.OwnerReferences) != 0 || b.text(t.Context(), "web") != "one" {
		t.Errorf("the graph has owners %+v", rg.OwnerReferences)
	}
	b.apply("web", "{text: two}")
	a := b.ready("web")
	rg = b.graph("web")
	if rg.UID != before.UID || len(rg.OwnerReferences) != 1 || rg.OwnerReferences[0].UID != a.UID || b.text(t.Context(), "web") != "two" {
		t.Errorf("the graph has owners %+v", rg.OwnerReferences)
	}
}

// An instance that is made again while the graph of the former one is being deleted waits.
func TestRecreation(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one, second: two}")
	b.ready("web")
	before := b.graph("web")
	// A finalizer keeps an object, and with it the graph.
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: web-second, finalizers: [example.org/wait]}}`)
	if err := b.instances().Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the graph is being deleted", func(ctx ctx) bool {
		rg, err := b.readGraph(ctx, "web")
		return err == nil && rg.DeletionTimestamp != nil
	})
	b.apply("web", "{text: three}")
	a := b.until("web", condition("False", "FormerGraph", "is being deleted"))
	if slices.ContainsFunc(a.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Stalled" }) {
		t.Errorf("conditions: %+v", a.Status.Conditions)
	}
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: web-second, finalizers: []}}`)
	b.ready("web")
	if rg := b.graph("web"); rg.UID == before.UID || rg.OwnerReferences[0].UID != a.UID || b.text(t.Context(), "web") != "three" {
		t.Errorf("the graph is %s of %+v", rg.UID, rg.OwnerReferences)
	}
}

// An instance whose graph others delete or change gets it back.
func TestGraphIsRestored(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one}")
	b.ready("web")
	before := b.graph("web")
	if err := b.graphs().Delete(t.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the graph is back", func(ctx ctx) bool {
		rg, err := b.readGraph(ctx, "web")
		return err == nil && rg.UID != before.UID && b.text(ctx, "web") == "one"
	})
	b.ready("web")
	if _, err := b.kubectl("patch", "resourcegraph", before.Name, "--type=json", `--patch=[{"op":"replace","path":"/spec/graph/nodes","value":[]}]`); err != nil {
		t.Fatal(err)
	}
	b.eventually("the graph is corrected", func(ctx ctx) bool {
		rg, err := b.readGraph(ctx, "web")
		return err == nil && len(rg.Spec.Graph.Nodes) == 1 && rg.Generation > 2
	})
	b.ready("web")
	if got := b.text(t.Context(), "web"); got != "one" {
		t.Errorf("ConfigMap has %q", got)
	}
}

// collected waits until the garbage collector knows graphs. It looks for new kinds every 30 s.
// Before that, it deletes an instance with --cascade=orphan and then the graph, whose owner it
// did not find.
func (b *env) collected() {
	b.t.Helper()
	b.apply("collected", "{text: one}")
	b.ready("collected")
	if err := b.instances().Delete(b.t.Context(), "collected", metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the graph is collected", func(ctx ctx) bool { _, err := b.readGraph(ctx, "collected"); return isGone(err) })
}

// While the informer doesn't show that an instance was deleted, its graph is neither made
// again nor given back to it.
func TestDeletionThatIsNotSeen(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(appModule, v1alpha1.TransformSpec{})
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	apps := b.entry.Names.Plural + "." + b.entry.Names.Group
	for _, name := range []string{"gone", "orphan"} {
		b.apply(name, "{text: "+name+"}")
		b.ready(name)
	}
	b.collected()
	before := b.graph("orphan")
	// The informer can't go on, and others can.
	proxy.Inject(faults.Rule{Verbs: []string{"list", "watch"}, Resources: []string{apps}, Faults: []faults.Fault{faults.Status{Code: 500}}})
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	proxy.Reset()
	orphan := metav1.DeletePropagationOrphan
	if err := b.instances().Delete(t.Context(), "orphan", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	if err := b.instances().Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "orphan"} {
		b.eventually(name+" is looked for", func(ctx) bool {
			return proxy.Count(func(r faults.Request) bool { return r.Verb == "get" && r.Resource == apps && r.Name == name }) > 0
		})
	}
	if n := proxy.Count(func(r faults.Request) bool {
		return r.Verb == "apply" && strings.HasPrefix(r.Resource, "resourcegraphs.")
	}); n > 0 {
		t.Errorf("a graph was written %d times", n)
	}
	proxy.Inject()
	if rg := b.graph("orphan"); rg.UID != before.UID || len(rg.OwnerReferences) > 0 {
		t.Errorf("the orphaned graph: %+v", rg.ObjectMeta)
	}
	if _, err := b.readGraph(t.Context(), "gone"); !isGone(err) {
		t.Errorf("the graph of the deleted instance: %v", err)
	}
}
