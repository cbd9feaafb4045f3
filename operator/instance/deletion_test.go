package instance_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
