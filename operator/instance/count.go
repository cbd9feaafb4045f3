package instance

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// countPause is the least time between two counts of the instances of a kind. Each may cost a
// write of the Transform.
const countPause = 5 * time.Second

// recount has the instances counted soon.
func (k *kind) recount() {
	select {
	case k.uncounted <- struct{}{}:
	default: // they will be
	}
}

// countInstances counts the instances when one of them has changed, until ctx is done.
func (k *kind) countInstances(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced) {
		return
	}
	k.recount() // there may be none
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.uncounted:
		}
		// The status of a paused Transform is not written either.
		if e := k.entry.Load(); !e.Paused {
			k.Catalog.Count(e.Transform, count(k.informer.GetStore().List()))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(countPause):
		}
	}
}

// count counts instances by the phases that their status has.
func count(instances []any) v1alpha1.InstanceCounts {
	counts := v1alpha1.InstanceCounts{Total: len(instances)}
	for _, obj := range instances {
		in, ok := obj.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		switch phase, _, _ := unstructured.NestedString(in.Object, "status", "phase"); phase {
		case phaseReady:
			counts.Ready++
		case phaseFailed:
			counts.Failed++
		}
		if in.GetAnnotations()[v1alpha1.AnnotationPinnedVersion] != "" {
			counts.Pinned++
		}
	}
	return counts
}
