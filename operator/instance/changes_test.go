package instance_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// Nothing is written for a paused instance, whichever way it is paused.
func TestPaused(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	pauses := map[string][2]func(name string){
		"instance": {
			func(name string) { b.merge(name, `{"metadata":{"labels":{"pequod.io/paused":"true"}}}`) },
			func(name string) { b.merge(name, `{"metadata":{"labels":{"pequod.io/paused":null}}}`) },
		},
		"transform": {
			func(string) { e := b.entry; e.Paused = true; b.publish(e) },
			func(string) { e := b.entry; e.Paused = false; b.publish(e) },
		},
	}
	for by, pause := range pauses {
		t.Run(by, func(t *testing.T) {
			b.apply(by, "{text: one}")
			b.ready(by)
			before := b.graph(by)
			pause[0](by)
			a := b.until(by, condition("True", "Paused", "is paused by its label pequod.io/paused"))
			if a.Status.Phase != "Ready" {
				t.Errorf("phase %s", a.Status.Phase)
			}
			b.apply(by, "{text: two}")
			a = b.until(by, condition("Unknown", "Paused", "is paused by its label pequod.io/paused"))
			if len(a.Status.Conditions) != 1 || a.Status.Phase != "Pending" {
				t.Errorf("status: %+v", a.Status)
			}
			// A paused instance that was never handled has no graph.
			in := b.manifest(by+"-new", "{text: new}")
			in.SetLabels(map[string]string{v1alpha1.LabelPaused: "true"})
			if _, err := b.instances().Create(t.Context(), in, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			b.until(by+"-new", condition("Unknown", "Paused", ""))
			if after := b.graph(by); after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the graph of a paused instance was changed")
			}
			if _, err := b.readGraph(t.Context(), by+"-new"); !isGone(err) {
				t.Errorf("the graph of a paused instance: %v", err)
			}
			pause[1](by)
			b.ready(by)
			if got := b.text(t.Context(), by); got != "two" {
				t.Errorf("ConfigMap has %q", got)
			}
		})
	}
}

// A reconciliation that is asked for renders the instance and executes its graph again.
func TestRequests(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one}")
	b.ready("web")
	renders := b.local.count("web")
	for _, test := range []struct{ annotation, at string }{
		{"pequod.io/reconcile-requested-at", "2026-01-01T00:00:00Z"},
		{"reconcile.fluxcd.io/requestedAt", "2026-01-01T02:00:00.5+01:00"}, // later than the first
		{"pequod.io/reconcile-requested-at", "2026-01-02T00:00:00Z"},
	} {
		b.merge("web", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, test.annotation, test.at))
		b.until("web", func(a *app) error {
			if a.Status.LastHandledReconcileAt != test.at {
				return fmt.Errorf("%s isn't handled", test.at)
			}
			return condition("True", "", "")(a)
		})
		if rg := b.graph("web"); rg.Status.ReconcileRequestedAt != test.at || rg.Annotations["pequod.io/reconcile-requested-at"] != test.at {
			t.Errorf("the graph was executed for %q", rg.Status.ReconcileRequestedAt)
		}
		if renders++; b.local.count("web") != renders {
			t.Errorf("rendered %d times; want %d", b.local.count("web"), renders)
		}
	}
	// A request that can't be met is answered, too.
	b.apply("web", "{text: forbidden}")
	b.until("web", condition("False", "PolicyViolation", ""))
	b.merge("web", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"2026-01-03T00:00:00Z"}}}`)
	b.until("web", func(a *app) error {
		if a.Status.LastHandledReconcileAt != "2026-01-03T00:00:00Z" {
			return fmt.Errorf("the last request isn't handled")
		}
		return nil
	})
}

// Another module renders all instances again. Graphs that don't change aren't written.
func TestModuleChanges(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	const instances = 5
	for i := range instances {
		b.apply(fmt.Sprint("web-", i), "{text: one}")
	}
	versions := map[string]string{}
	for i := range instances {
		name := fmt.Sprint("web-", i)
		b.ready(name)
		versions[name] = b.graph(name).ResourceVersion
	}
	// The sources have another digest, and the module is the same.
	b.platform(appModule, v1alpha1.TransformSpec{})
	for i := range instances {
		name := fmt.Sprint("web-", i)
		b.eventually(name+" is rendered again", func(ctx) bool { return b.local.count(name) == 2 })
	}
	// A label doesn't reach the module, so nothing is rendered for it.
	b.merge("web-0", `{"metadata":{"labels":{"team":"shop"},"annotations":{"note":"x"}}}`)
	b.apply("last", "{text: one}")
	b.ready("last")
	for i := range instances {
		name := fmt.Sprint("web-", i)
		if got := b.graph(name).ResourceVersion; got != versions[name] {
			t.Errorf("the graph of %s was written", name)
		}
		if n := b.local.count(name); n != 2 {
			t.Errorf("%s was rendered %d times", name, n)
		}
	}
	before, err := b.read(t.Context(), "web-0")
	if err != nil {
		t.Fatal(err)
	}
	module := b.platform(strings.ReplaceAll(appModule, "data: text: input.spec.text", `data: text: "new \(input.spec.text)"`), v1alpha1.TransformSpec{}).Module
	for i := range instances {
		name := fmt.Sprint("web-", i)
		b.eventually(name+" has the new text", func(ctx ctx) bool { return b.text(ctx, name) == "new one" })
		b.until(name, func(a *app) error {
			if a.Status.Module.Digest != module.Digest || a.Status.Outputs["text"] != "new one" {
				return fmt.Errorf("module %s; want %s", a.Status.Module.Digest, module.Digest)
			}
			return condition("True", "", "")(a)
		})
	}
	// The generation of the instance is the same, so Ready must not have stayed True.
	after, err := b.read(t.Context(), "web-0")
	if err != nil {
		t.Fatal(err)
	}
	if before.Generation != after.Generation || meta.FindStatusCondition(after.Status.Conditions, "Ready") == nil {
		t.Errorf("generation %d, then %d", before.Generation, after.Generation)
	}
}

// A kind that leaves the catalog is left alone, and handled when it is back.
func TestKindLeavesAndReturns(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one}")
	b.ready("web")
	b.catalog.Delete(b.entry.Transform)
	b.apply("web", "{text: two}")
	b.apply("other", "{text: two}")
	b.publish(b.entry)
	for _, name := range []string{"web", "other"} {
		b.ready(name)
		if got := b.text(t.Context(), name); got != "two" {
			t.Errorf("ConfigMap %s has %q", name, got)
		}
	}
}

// The graph of a cluster-scoped instance is in the namespace that the instance names.
func TestClusterScoped(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(strings.NewReplacer(
		`kind: "App"`, `kind: "Tenant", scope: "Cluster"`, "namespace: input.metadata.namespace", fmt.Sprintf("namespace: %q", b.Namespace),
	).Replace(appModule), v1alpha1.TransformSpec{})
	b.start(b.Config)
	module := func(namespace string) {
		in := b.manifest("acme", "{text: one}")
		in.Object["graphNamespace"] = namespace
		if _, err := b.instances().Apply(t.Context(), "acme", in, metav1.ApplyOptions{FieldManager: "developer", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	module(b.Namespace)
	t.Cleanup(func() {
		if err := b.instances().Delete(b.background(), "acme", metav1.DeleteOptions{}); err != nil && !isGone(err) {
			t.Log(err)
		}
	})
	a := b.ready("acme")
	if a.Status.ResourceGraphRef.Namespace != b.Namespace || b.text(t.Context(), "acme") != "one" {
		t.Errorf("status: %+v", a.Status)
	}
	// Both graphs would want the same objects.
	module("default")
	b.until("acme", condition("False", "GraphElsewhere", "set graphNamespace to "+b.Namespace))
	b.stop()
	b.start(b.Config) // the next manager finds the same
	b.merge("acme", `{"spec":{"text":"two"}}`)
	a = b.until("acme", condition("False", "GraphElsewhere", "set graphNamespace to "+b.Namespace))
	if a.Status.ResourceGraphRef.Namespace != b.Namespace {
		t.Errorf("status: %+v", a.Status)
	}
	module(b.Namespace)
	b.ready("acme")
}
