package instance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An instance leads to the graph that pequod render prints, which is executed, and its
// status tells the result.
func TestInstance(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: one, second: two}")
	a := b.ready("web")
	if got := b.text(t.Context(), "web"); got != "one" {
		t.Errorf("ConfigMap web has %q", got)
	}
	rg := b.graph("web")
	want, ps, err := renderLocally(b.local.platforms[b.entry.Digest], b.manifest("web", "{text: one, second: two}").Object)
	if err != nil || ps != nil {
		t.Fatal(err, ps)
	}
	if diff := cmp.Diff(want.Spec, rg.Spec); diff != "" {
		t.Errorf("spec (-pequod render +cluster):\n%s", diff)
	}
	want.Labels["pequod.io/managed-by-operator"] = "true"
	if account := rg.Annotations["pequod.io/account"]; account != "pequod" {
		t.Errorf("account %q", account)
	}
	if diff := cmp.Diff(want.Labels, rg.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	owner := []metav1.OwnerReference{{
		APIVersion: b.entry.Names.Group + "/v1alpha1", Kind: "App", Name: "web", UID: a.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	if diff := cmp.Diff(owner, rg.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	s := a.Status
	if s.Phase != "Ready" || s.ResourceGraphRef.Name != rg.Name || s.ResourceGraphRef.Namespace != b.Namespace || s.Outputs["text"] != "one" {
		t.Errorf("status: %+v", s)
	}
	if s.Nodes.Total != 2 || s.Nodes.Ready != 2 || s.Nodes.Failed != 0 || s.FirstFailure != nil || s.Module.Digest != want.Spec.PlatformRef.Digest {
		t.Errorf("status: %+v", s)
	}
	if len(s.Conditions) != 1 {
		t.Errorf("conditions: %+v", s.Conditions)
	}
	if out, err := b.kubectl("wait", "--for=condition=Ready", "app."+b.entry.Names.Group+"/web", "--timeout=20s"); err != nil {
		t.Error(err, out)
	}

	// A change is executed, and Ready is never shown for a generation before it is.
	b.apply("web", "{text: changed}")
	b.ready("web")
	if got := b.text(t.Context(), "web"); got != "changed" {
		t.Errorf("the instance is ready; ConfigMap web has %q", got)
	}
	if n := b.local.count("web"); n != 2 {
		t.Errorf("rendered %d times; want 2", n)
	}
	b.eventually("the second ConfigMap is pruned", func(ctx ctx) bool { return b.text(ctx, "web-second") != "two" })

	// Deleting the instance deletes its graph and its objects.
	if err := b.instances().Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the graph is gone", func(ctx ctx) bool { _, err := b.readGraph(ctx, "web"); return isGone(err) })
	if got := b.text(t.Context(), "web"); got == "changed" {
		t.Error("the graph is gone, and ConfigMap web is still there")
	}
}

// Every status that is written as Ready belongs to objects of its generation.
func TestReadyIsOfThisGeneration(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: g0}")
	watch, err := b.instances().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	const changes = 5
	for i := 1; i <= changes; i++ {
		b.apply("web", "{text: g"+string(rune('0'+i))+"}")
	}
	last := "g5"
	for event := range watch.ResultChan() {
		in, ok := event.Object.(*unstructured.Unstructured)
		if !ok || !readyOf(in, in.GetGeneration()) {
			continue
		}
		// The generation is ready, so the object has its text or that of a later one.
		text, _, _ := unstructured.NestedString(in.Object, "spec", "text")
		if got := b.text(t.Context(), "web"); got < text {
			t.Fatalf("generation %d with %s is shown as ready; the ConfigMap has %s", in.GetGeneration(), text, got)
		}
		if text == last {
			return
		}
	}
}

// readyOf reports whether an instance is shown as ready, for a generation.
func readyOf(in *unstructured.Unstructured, generation int64) bool {
	list, _, _ := unstructured.NestedSlice(in.Object, "status", "conditions")
	for _, c := range list {
		fields := c.(map[string]any)
		if fields["type"] == "Ready" && fields["status"] == "True" && fields["observedGeneration"] == generation {
			return true
		}
	}
	return false
}
