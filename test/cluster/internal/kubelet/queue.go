package kubelet

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

type queue = workqueue.TypedRateLimitingInterface[string]

// newQueue makes a queue that returns failed keys soon: what fails here is
// mostly a conflict with a write that is seen a moment later.
func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 5*time.Second))
}

// firstSeen remembers when an object was first seen, because the times that
// objects carry are cut to seconds.
type firstSeen struct {
	mu sync.Mutex
	at map[types.UID]time.Time
}

func newFirstSeen() *firstSeen { return &firstSeen{at: map[types.UID]time.Time{}} }

// of is when the object was first seen, which is now if it wasn't.
func (f *firstSeen) of(uid types.UID, now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, seen := f.at[uid]; seen {
		return at
	}
	f.at[uid] = now
	return now
}

func (f *firstSeen) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, uid)
}
