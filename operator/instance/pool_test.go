package instance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/workers"
)

// Instances are rendered in worker processes, with the result of the command line. A pool that
// doesn't know the platform loads it.
func TestPooled(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	newPool := func() *worker.Pool { return workers.Pool(t, worker.Options{}) }
	spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}, Group: b.Unique("g") + ".example.org"}
	opened, err := transform.Open(t.Context(), &modules.Opener{}, "web", spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		t.Fatal(err)
	}
	sources, err := opened.Encode()
	if err != nil {
		t.Fatal(err)
	}
	key := worker.Key{Transform: types.NamespacedName{Namespace: b.Namespace, Name: "web"}, Digest: transform.Digest(sources)}
	loaded, err := newPool().Load(t.Context(), key, sources)
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.IgnoresLabels || !loaded.IgnoresAnnotations {
		t.Error("the module is said to read labels or annotations")
	}
	b.define(loaded.CRD)
	b.renderer = instance.Pooled(newPool(), nil)
	b.publish(catalog.Entry{
		Transform: key.Transform, Digest: key.Digest, Sources: sources, Names: loaded.Names, Module: catalog.Module(loaded.Module),
		Account: types.NamespacedName{Namespace: b.Namespace, Name: "pequod"},
	})
	b.start(b.Config)
	b.apply("web", "{image: shop, port: 8080}")
	a := b.ready("web")
	platform, err := opened.Load()
	if err != nil {
		t.Fatal(err)
	}
	live, err := b.instances().Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, ps, err := renderLocally(platform, live.Object)
	if err != nil || ps.Failed() {
		t.Fatal(err, ps)
	}
	if diff := cmp.Diff(want.Spec, b.graph("web").Spec); diff != "" {
		t.Errorf("spec (-pequod render +cluster):\n%s", diff)
	}
	if n := a.Status.Nodes; n.Total != len(want.Spec.Graph.Nodes) || n.Ready != n.Total || n.Failed != 0 || a.Status.Module.Digest != platform.Module.Digest {
		t.Errorf("status: %+v", a.Status)
	}
}
