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

// counter counts the instances of a kind. It has a value if an instance has changed since the
// last count.
type counter chan struct{}

// recount has the instances counted soon.
func (c counter) recount() {
	select {
	case c <- struct{}{}:
	default: // they will be
	}
}

// run counts the instances that an informer shows when one of them has changed, until ctx is
// done.
func (c counter) run(ctx context.Context, informer cache.SharedInformer, publish func(v1alpha1.InstanceCounts)) {
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return
	}
	c.recount() // there may be none
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
		publish(count(informer.GetStore().List()))
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
		switch phase, _, _ := unstructured.NestedString(in.Object, "status", "phase"); v1alpha1.InstancePhase(phase) {
		case v1alpha1.InstanceReady:
			counts.Ready++
		case v1alpha1.InstanceFailed:
			counts.Failed++
		}
		if in.GetAnnotations()[v1alpha1.AnnotationPinnedVersion] != "" {
			counts.Pinned++
		}
	}
	return counts
}
