package kubelet

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// queue has the keys of changed objects.
type queue = workqueue.TypedRateLimitingInterface[string]

// newQueue returns a queue that retries failed keys soon: most failures are
// conflicts with a write that the informer delivers a moment later.
func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 5*time.Second))
}

// firstSeen records when objects were first seen, because the timestamps in
// objects have a resolution of one second.
type firstSeen struct {
	mu sync.Mutex
	at map[types.UID]time.Time
}

// newFirstSeen returns an empty record.
func newFirstSeen() *firstSeen { return &firstSeen{at: map[types.UID]time.Time{}} }

// of returns when the object was first seen, which is now if it is new.
func (f *firstSeen) of(uid types.UID, now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, seen := f.at[uid]; seen {
		return at
	}
	f.at[uid] = now
	return now
}

// forget removes an object that no longer exists.
func (f *firstSeen) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, uid)
}
