package transform_test

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// TestInstanceCounts checks that the status has the numbers of instances, which cost a write
// when they change, and that a restart keeps them until the instances were counted.
func TestInstanceCounts(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	key := types.NamespacedName{Namespace: b.Namespace, Name: "app"}
	b.create(b.transform("app", b.appModule(`text: string`)))
	if got := b.ready("app"); got.Status.Instances != nil {
		t.Errorf("instances %+v before they were counted", got.Status.Instances)
	}
	shows := func(want v1alpha1.InstanceCounts) *v1alpha1.Transform {
		t.Helper()
		return b.until("app", func(t *v1alpha1.Transform) error {
			if t.Status.Instances == nil || *t.Status.Instances != want {
				return errors.New("other numbers of instances")
			}
			return nil
		})
	}
	b.catalog.Count(key, v1alpha1.InstanceCounts{Total: 3, Ready: 2, Failed: 1})
	stored := shows(v1alpha1.InstanceCounts{Total: 3, Ready: 2, Failed: 1})
	versions, err := b.client.Watch(t.Context(), &v1alpha1.TransformList{}, client.InNamespace(b.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: stored.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	defer versions.Stop()
	b.catalog.Count(key, v1alpha1.InstanceCounts{Total: 4, Ready: 4, Pinned: 1})
	stored = shows(v1alpha1.InstanceCounts{Total: 4, Ready: 4, Pinned: 1})
	b.catalog.Count(key, v1alpha1.InstanceCounts{Total: 4, Ready: 4, Pinned: 1})
	// A write with an outdated resourceVersion is refused and repeated. Only stored versions count.
	n := 0
	for quiet := time.After(time.Second); quiet != nil; { // nothing is to come
		select {
		case <-versions.ResultChan():
			n++
		case <-quiet:
			quiet = nil
		}
	}
	if n != 1 {
		t.Errorf("%d versions for a change; want 1", n)
	}

	b.stop()
	b.start(b.Config)
	harness.Eventually(t, patience, b.listed)
	if again := b.ready("app"); again.ResourceVersion != stored.ResourceVersion {
		t.Errorf("the restart changed the status to %+v", again.Status)
	}
}
