package instance_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/test/harness"
)

// A graph names the object of Flux that has applied its instance, also when that changes. Its spec and its
// generation stay as they are.
func TestAppliedByFlux(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.metrics = metrics.New(prometheus.NewPedanticRegistry()).Controller("platforminstance")
	b.platform(appModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	b.apply("web", "{text: good}")
	b.ready("web")
	for _, step := range []struct{ labels, want string }{
		{`{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}`, "Kustomization/flux-system/apps"},
		{`{"kustomize.toolkit.fluxcd.io/name": "other"}`, "Kustomization/flux-system/other"},
		{`{"kustomize.toolkit.fluxcd.io/name": null}`, ""},
	} {
		patch := []byte(`{"metadata": {"labels": ` + step.labels + `}}`)
		if _, err := b.instances().Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		b.eventually("the graph names "+step.want, func(ctx context.Context) bool {
			rg, err := b.readGraph(ctx, "web")
			return err == nil && rg.Annotations["pequod.io/applied-by"] == step.want
		})
	}
	if rg := b.graph("web"); rg.Generation != 1 {
		t.Errorf("generation %d", rg.Generation)
	}
}
