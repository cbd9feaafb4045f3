package instance

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestCrowd has a tenant with thousands of instances, and others with one. Theirs are next, and the ones that are
// late are last.
func TestCrowd(t *testing.T) {
	t.Parallel()
	q := priorityqueue.New[reconcile.Request]("test")
	t.Cleanup(q.ShutDown)
	k := &kind{}
	k.queue.Store(&queue{TypedRateLimitingInterface: q})
	name := func(namespace string, i int) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}
	}
	const many = 3000
	k.enqueue(name("late", 0), true)
	for i := range many {
		k.enqueue(name("many", i), false)
	}
	for i := range 5 {
		k.enqueue(name(fmt.Sprint("few-", i), 0), false)
	}
	few := 0
	for n := range many + 6 {
		request, _ := q.Get()
		k.queue.Load().leave(request.NamespacedName)
		q.Done(request)
		switch request.Namespace {
		case "many":
		case "late":
			if n != many+5 {
				t.Errorf("the one that is late is number %d", n)
			}
		default:
			if few++; n > row+5 {
				t.Errorf("%s is number %d", request, n)
			}
		}
	}
	if left := len(k.queue.Load().waiting); few != 5 || left != 0 {
		t.Errorf("%d of the others were handled, %d namespaces are left", few, left)
	}
}
