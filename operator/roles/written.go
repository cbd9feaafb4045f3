package roles

import (
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Written are the objects that this process applied and whose events it hasn't seen. Until then, the cache
// shows their former state, and they would be applied again. The zero value is ready to use.
type Written struct{ objects sync.Map }

// applied is an object as it was applied.
type applied struct {
	client.Object
	at time.Time
}

// trustWrites is how long an event may take. There is none if the history of the cluster was rewritten, as
// by restoring etcd.
const trustWrites = time.Minute

// Seen notes an event about an object.
func (w *Written) Seen(object client.Object) { w.objects.Delete(nameOf(object)) }

func (w *Written) add(object client.Object) {
	w.objects.Store(nameOf(object), applied{object, time.Now()})
}

// has reports whether an object was applied just as it is.
func (w *Written) has(object client.Object) bool {
	a, ok := w.objects.Load(nameOf(object))
	return ok && time.Since(a.(applied).at) < trustWrites && same(a.(applied).Object, object)
}

// nameOf identifies an object.
func nameOf(object client.Object) string {
	return fmt.Sprintf("%T %s", object, client.ObjectKeyFromObject(object))
}
