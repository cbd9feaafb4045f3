package instance_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/instance"
	"github.com/pequod-io/pequod/test/harness"
)

func TestTally(t *testing.T) {
	in := func(phase, pinned string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPinnedVersion: pinned}},
			"status":   map[string]any{"phase": phase},
		}}
	}
	type numbers struct {
		Phases map[string]int
		Pinned int
		Used   map[string]int
	}
	all := []*unstructured.Unstructured{
		in("Ready", ""), in("Ready", "v1.2.3"), in("Pending", ""), {Object: map[string]any{}}, in("Failed", "v1.2.3"), in("Ready", "v2"),
	}
	for gone, want := range []numbers{
		{map[string]int{"Pending": 2, "Rendering": 0, "Ready": 3, "Failed": 1}, 3, map[string]int{"": 3, "v1.2.3": 2, "v2": 1}},
		{map[string]int{"Pending": 2, "Rendering": 0, "Ready": 2, "Failed": 1}, 2, map[string]int{"": 3, "v1.2.3": 2}},
		{map[string]int{"Pending": 2, "Rendering": 0, "Ready": 2, "Failed": 0}, 1, map[string]int{"": 3, "v1.2.3": 1}},
	} {
		var got numbers
		got.Phases, got.Pinned, got.Used = instance.Tally(all, gone)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %d (-want +got):\n%s", gone, diff)
		}
	}
}

// The catalog gets the numbers of instances, also after a restart, and not for every change.
func TestCounts(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	transform := types.NamespacedName{Namespace: b.Namespace, Name: "app"}
	b.platform(appModule, v1alpha1.TransformSpec{})
	var changes atomic.Int32
	var last atomic.Value
	b.catalog.OnCount(func(types.NamespacedName) { // also when the instances were listed first
		if got := b.catalog.Counts(transform); got != nil && last.Swap(*got) != *got {
			changes.Add(1)
		}
	})
	begun := time.Now()
	b.start(b.Config)
	counts := func(want v1alpha1.InstanceCounts) {
		t.Helper()
		b.eventually(fmt.Sprintf("the counts are %+v", want), func(ctx) bool {
			got := b.catalog.Counts(transform)
			return got != nil && *got == want
		})
	}
	counts(v1alpha1.InstanceCounts{})
	const instances = 20
	for i := range instances {
		b.apply(fmt.Sprint("web-", i), "{text: one}")
	}
	b.apply("refused", "{text: forbidden}")
	counts(v1alpha1.InstanceCounts{Total: instances + 1, Ready: instances, Failed: 1})
	// More than 60 events led to a count each 5 s at most.
	if n, most := changes.Load(), int32(time.Since(begun)/(5*time.Second))+1; n > most {
		t.Errorf("the counts changed %d times in %s; want at most %d", n, time.Since(begun), most)
	}

	b.stop()
	b.catalog.Delete(transform)
	if b.catalog.Counts(transform) != nil {
		t.Error("a Transform that isn't listed has counts")
	}
	b.publish(b.entry)
	b.start(b.Config)
	counts(v1alpha1.InstanceCounts{Total: instances + 1, Ready: instances, Failed: 1})
	if err := b.instances().Delete(t.Context(), "refused", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	counts(v1alpha1.InstanceCounts{Total: instances, Ready: instances})
}
