package action

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/resourceversion"
)

// memory has what one process knows about Actions and doesn't store. A process that has just
// started knows nothing: it looks at all open runs at once, and takes none of them for fresh.
type memory struct {
	mu sync.Mutex
	of map[types.NamespacedName]known
}

// known is what is known about one Action.
type known struct {
	uid types.UID
	// poll is the time of the next look at the open run.
	poll time.Time
	// fresh is the key of a run that this process has recorded and has not tried to begin.
	// So nothing has begun it before freshUntil.
	fresh      string
	freshUntil time.Time
	// asked is the key of the open run, and since the time at which the last call of Begin
	// ended, or at which this process saw the run first.
	asked string
	since time.Time
	// written is the resourceVersion of the last write of the status.
	written string
	// looked is the last value of the annotation that has the open run looked at.
	looked string
}

// freshFor is how long a run is fresh. A process that was suspended may no longer lead, and
// doesn't know it. Leases last 15 s, and a leader renews them at least every 10 s, so no other
// process leads within 5 s after a write of the leader.
const freshFor = 5 * time.Second

func newMemory() memory { return memory{of: map[types.NamespacedName]known{}} }

// forget drops everything about an Action.
func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, name)
}

// change changes what is known about an Action, and returns the result. An Action that was
// made again with the same name is another one.
func (m *memory) change(name types.NamespacedName, uid types.UID, change func(*known)) known {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of[name]
	if k.uid != uid {
		k = known{uid: uid}
	}
	change(&k)
	if m.of[name] = k; k.poll.IsZero() && k.fresh == "" && k.asked == "" && k.written == "" && k.looked == "" {
		delete(m.of, name)
	}
	return k
}

// outdated reports whether an Action is older than the last write of its status. The cache may show
// it when others change the Action at the same time; acting on it would send a request again.
func (m *memory) outdated(name types.NamespacedName, a *v1alpha1.Action) bool {
	return resourceversion.Older(a.ResourceVersion, m.change(name, a.UID, func(*known) {}).written)
}
