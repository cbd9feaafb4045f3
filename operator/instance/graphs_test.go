package instance_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// A manager watches the graphs once, whether or not it executes them. It learns of a graph that is
// deleted while it has no connection.
func TestGraphsAreWatchedOnce(t *testing.T) {
	t.Parallel()
	for _, executes := range []bool{true, false} {
		t.Run(fmt.Sprintf("execute=%t", executes), func(t *testing.T) {
			t.Parallel()
			b := idle(t, harness.Start(t))
			b.renders = !executes
			b.platform(appModule, v1alpha1.TransformSpec{})
			proxy := b.Proxy(t, 1)
			b.start(proxy.Config(b.Config))
			b.apply("web", "{text: one}")
			settled := func() {
				if executes {
					b.ready("web")
				} else {
					b.until("web", condition("Unknown", "Progressing", ""))
				}
			}
			settled()
			if watched := proxy.Watched("resourcegraphs.platform.pequod.io"); len(watched) != 1 {
				t.Errorf("graphs are watched by the labels %q", watched)
			}

			before := b.graph("web")
			if err := proxy.Down(); err != nil {
				t.Fatal(err)
			}
			if _, err := b.graphs().Patch(t.Context(), before.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := b.graphs().Delete(t.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := proxy.Up(); err != nil {
				t.Fatal(err)
			}
			b.eventually("the graph is written again", func(ctx ctx) bool {
				rg, err := b.readGraph(ctx, "web")
				return err == nil && rg.UID != before.UID
			})
			settled()
		})
	}
}

// Graphs that the manager only rendered until now are executed after a write of their label alone.
func TestRenderedGraphsAreExecuted(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.renders = true
	b.platform(appModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	b.apply("web", "{text: one}")
	b.until("web", condition("Unknown", "Progressing", ""))
	before := b.graph("web")
	b.stop()

	b.renders = false
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.ready("web")
	after := b.graph("web")
	if after.UID != before.UID || before.Labels[v1alpha1.LabelOperator] != v1alpha1.OperatorRenders || after.Labels[v1alpha1.LabelOperator] != v1alpha1.OperatorExecutes {
		t.Errorf("the graph became another one: %v, then %v", before.ObjectMeta, after.ObjectMeta)
	}
	if writes := proxy.Count(func(r faults.Request) bool {
		return r.Verb == "apply" && r.Resource == "resourcegraphs.platform.pequod.io" && r.Name == before.Name
	}); writes != 1 {
		t.Errorf("the graph was written %d times", writes)
	}
}
