package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func TestDeleteInReverse(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"), configMap("c", "c", "1", "b"))))
	b.ready("web")
	// c can't go before its finalizer: nothing else may either.
	b.patch("v1", "ConfigMap", "c", "somebody", `{"metadata":{"finalizers":["example.com/held"]}}`)
	b.ready("web")
	b.remove("web")
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if got := conditionText(rg, "Ready"); got != "False Deleting: ConfigMap "+b.Namespace+"/c: is being deleted, held by finalizer example.com/held" {
			return fmt.Errorf("condition: %s", got)
		}
		return nil
	})
	b.wantExists(true, "v1", "ConfigMap", "a", "b")
	b.patch("v1", "ConfigMap", "c", "somebody", `{"metadata":{"finalizers":null}}`)
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a", "b", "c")
}

func conditionText(rg *v1alpha1.ResourceGraph, kind string) string {
	for _, c := range rg.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

func TestPrune(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("web")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"))))
	rg := b.ready("web")
	b.wantExists(false, "v1", "ConfigMap", "b")
	if got, want := owned(rg), "ConfigMap a"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	if len(rg.Status.History) != 2 || rg.Status.History[0].Deleted != 1 || rg.Status.History[0].Revision != 2 {
		t.Errorf("history: %+v", rg.Status.History)
	}
}

func TestSpecChangesMidway(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	slow := `{id: slow, resource: {apiVersion: v1, kind: Pod, metadata: {name: slow, annotations: {testcluster.pequod.io/ready-after: never}}, spec: {containers: [{name: a, image: a}]}}}`
	b.apply(b.rendered("web", nodes(slow, configMap("a", "a", "1"), configMap("b", "b", "1", "slow"))))
	b.eventually("applied", func(ctx ctx) bool { return b.exists(ctx, "v1", "ConfigMap", "a") && b.exists(ctx, "v1", "Pod", "slow") })
	for i := range 5 {
		b.apply(b.rendered("web", nodes(configMap("a", "a", fmt.Sprint(i)), configMap(fmt.Sprintf("x%d", i), fmt.Sprintf("x%d", i), "1"))))
	}
	rg := b.ready("web")
	if got, want := owned(rg), "ConfigMap a, ConfigMap x4"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	b.wantExists(false, "v1", "ConfigMap", "b", "x0", "x1", "x2", "x3")
	b.eventually("the Pod goes", func(ctx ctx) bool { return !b.exists(ctx, "v1", "Pod", "slow") })
	if got := b.data(t.Context(), "a"); got != "4" {
		t.Errorf("a is of graph %s", got)
	}
}

func TestSuspendAndPause(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for _, test := range []struct{ name, halt, resume string }{
		{"suspended", `{"spec":{"suspend":true}}`, `{"spec":{"suspend":false}}`},
		{"paused", `{"metadata":{"labels":{"pequod.io/paused":"true"}}}`, `{"metadata":{"labels":{"pequod.io/paused":null}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := test.name + "-a"
			b.apply(b.rendered(test.name, nodes(configMap("a", object, "1"))))
			b.ready(test.name)
			b.merge(test.name, test.halt)
			if test.name == "suspended" {
				b.until(test.name, isReady) // the new generation is observed
			} else {
				time.Sleep(300 * time.Millisecond)
			}
			b.patch("v1", "ConfigMap", object, "somebody", `{"data":{"a":"other"}}`)
			time.Sleep(time.Second)
			if got := b.data(t.Context(), object); got != "other" {
				t.Errorf("data is %q; a graph that is halted corrects nothing", got)
			}
			b.merge(test.name, test.resume)
			b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, object) == "1" })
			b.ready(test.name)

			b.merge(test.name, test.halt)
			b.remove(test.name)
			b.gone(test.name)
			obj, err := b.resource("v1", "ConfigMap").Get(t.Context(), object, metav1.GetOptions{})
			if err != nil || obj.GetDeletionTimestamp() != nil || len(obj.GetLabels()) > 0 {
				t.Errorf("%v, labels %v; want it there, and nobody's", err, obj.GetLabels())
			}
		})
	}
	// What was never executed says so.
	b.apply(b.rendered("new", nodes(configMap("a", "new-a", "1")), func(s *v1alpha1.ResourceGraphSpec) { s.Suspend = true }))
	b.until("new", condition("Ready", "Unknown", "Suspended", ""))
	b.wantExists(false, "v1", "ConfigMap", "new-a")
}

func (b *env) merge(name, patch string) {
	b.t.Helper()
	if _, err := b.graphs().Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		b.t.Fatal(err)
	}
}

func TestReconcileRequested(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	const requested = "Sun Nov  1 12:00:00 UTC 2026" // as date has it
	b.merge("web", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"`+requested+`"}}}`)
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt != requested {
			return fmt.Errorf("request of %q is acted on", rg.Status.ReconcileRequestedAt)
		}
		return isReady(rg)
	})
}

func TestInvalidGraphStalls(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1", "b"), configMap("b", "b", "1", "a"))))
	rg := b.until("web", condition("Stalled", "True", "Invalid", "a → b → a"))
	if err := condition("Ready", "False", "Invalid", "")(rg); err != nil {
		t.Error(err)
	}
	if rg.Status.Phase != v1alpha1.GraphFailed {
		t.Errorf("phase %s", rg.Status.Phase)
	}
	b.wantExists(false, "v1", "ConfigMap", "a", "b")
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"))))
	b.ready("web")
	// An invalid graph that is deleted takes its objects along.
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1", "nowhere"))))
	b.until("web", condition("Stalled", "True", "Invalid", "nowhere"))
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a", "b")
}

func TestDeletedWhileItIsExecuted(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	slow := `{id: slow, resource: {apiVersion: v1, kind: Pod, metadata: {name: slow, annotations: {testcluster.pequod.io/ready-after: never}}, spec: {containers: [{name: a, image: a}]}}}`
	b.apply(b.rendered("web", nodes(slow, configMap("a", "a", "1"), configMap("b", "b", "1", "slow"))))
	b.eventually("applied", func(ctx ctx) bool { return b.exists(ctx, "v1", "Pod", "slow") })
	b.remove("web")
	b.gone("web")
	b.eventually("all gone", func(ctx ctx) bool {
		return !b.exists(ctx, "v1", "Pod", "slow") && !b.exists(ctx, "v1", "ConfigMap", "a")
	})
	b.wantExists(false, "v1", "ConfigMap", "b")
}

// TestKeptObjects checks that objects which are annotated to be kept are released when
// they leave their graph and when the graph is deleted, and that status and Events name
// object and annotation.
func TestKeptObjects(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"), configMap("c", "c", "1"))))
	b.ready("web")
	b.patch("v1", "ConfigMap", "b", "helm", `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	b.patch("v1", "ConfigMap", "c", "flux", `{"metadata":{"annotations":{"kustomize.toolkit.fluxcd.io/prune":"disabled"}}}`)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"), configMap("c", "c", "1"))))
	rg := b.ready("web")
	said := "ConfigMap " + b.Namespace + "/b was released instead of deleted: annotated helm.sh/resource-policy: keep"
	if got, want := conditionText(rg, "Ready"), "True Completed: 2 objects are ready; "+said; got != want {
		t.Errorf("condition: %s; want %s", got, want)
	}
	b.event("web", "Kept", said)
	if got, want := owned(rg), "ConfigMap a, ConfigMap c"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	b.remove("web")
	b.gone("web")
	b.event("web", "Kept", "ConfigMap "+b.Namespace+"/c was released instead of deleted: annotated kustomize.toolkit.fluxcd.io/prune: disabled")
	b.wantExists(false, "v1", "ConfigMap", "a")
	for _, name := range []string{"b", "c"} {
		if labels := b.Get(t, "v1", "ConfigMap", name).GetLabels(); len(labels) > 0 {
			t.Errorf("%s: labels: %v; want none", name, labels)
		}
	}
}
