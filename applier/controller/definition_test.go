package controller_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

// Deleting the definition of ResourceGraphs deletes all graphs of the cluster. Their
// objects stay, with their labels, and the graphs take them over when they return.
func TestDefinitionIsDeleted(t *testing.T) {
	t.Parallel()
	const graphs = 10
	b := idle(t, harness.StartOwn(t)) // no other test may lose its graphs
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	name := func(i int) string { return fmt.Sprintf("g%d", i) }
	apply := func() {
		for i := range graphs {
			b.apply(b.rendered(name(i), nodes(configMap("a", name(i), "1"))))
		}
		for i := range graphs {
			b.ready(name(i))
		}
	}
	apply()
	uid := b.Get(t, "v1", "ConfigMap", "g0").GetUID()
	// While one read takes its time, all the other graphs come to ask.
	isRead := func(r faults.Request) bool {
		return r.Verb == "get" && r.Resource == "customresourcedefinitions.apiextensions.k8s.io"
	}
	proxy.Inject(faults.Rule{
		Verbs: []string{"get"}, Resources: []string{"customresourcedefinitions.apiextensions.k8s.io"}, Times: 2,
		Faults: []faults.Fault{faults.Delay{For: 2 * time.Second}},
	})
	crds, err := b.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := crds.Delete(t.Context(), "resourcegraphs.platform.pequod.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the definition is gone", func(ctx ctx) bool {
		_, err := crds.Get(ctx, "resourcegraphs.platform.pequod.io", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	for i := range graphs {
		if labels := b.Get(t, "v1", "ConfigMap", name(i)).GetLabels(); labels["pequod.io/graph"] != name(i) {
			t.Errorf("%s: labels %v", name(i), labels)
		}
	}
	b.event("g0", "Orphaned", "the CustomResourceDefinition of ResourceGraphs is being deleted: orphaned 1 object")
	if n := proxy.Count(isRead); n == 0 || n >= graphs {
		t.Errorf("%d graphs read the definition %d times", graphs, n)
	}
	inprocess.Install(t, b.Cluster)
	apply()
	if got := b.Get(t, "v1", "ConfigMap", "g0").GetUID(); got != uid {
		t.Error("the object was recreated")
	}
	// A graph that is deleted by itself takes its objects along again.
	b.remove("g0")
	b.gone("g0")
	b.wantExists(false, "v1", "ConfigMap", "g0")
}
