package source

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// reconciler reconciles InstanceSources. An InstanceSource is reconciled by one goroutine at a
// time.
type reconciler struct {
	Options
	client  client.Client
	dynamic dynamic.Interface
	events  events.EventRecorder
	flux    *sources
	clock   func() time.Time
	// started is the time at which the controller was started.
	started time.Time

	mu       sync.Mutex // guards the map, and platforms of each memory
	memories map[types.NamespacedName]*memory
}

// memory is what this process knows about an InstanceSource. All of it can be found again.
type memory struct {
	uid types.UID
	// input identifies the archive and the settings of the last rendering, and platforms the
	// platforms of the kinds that its files have, "" for kinds without one.
	input     string
	platforms map[schema.GroupKind]string
	// failure is why the last rendering failed. Otherwise result is what it has made.
	failure *failure
	result  *result
	// former is the digest of the archive before the one that is published, "" if it isn't known.
	former string
	// due is when to render again although nothing has changed.
	due time.Time
	// failures counts failures in a row.
	failures int
}

// result is a rendering that was saved.
type result struct {
	digest    string // of the archive
	size      int64
	instances int
	// revision is the revision of the source.
	revision string
}

// session is one reconciliation.
type session struct {
	*reconciler
	key types.NamespacedName
	// source is a copy of the InstanceSource. Its status is that in the cluster until it is written.
	source    *v1alpha1.InstanceSource
	memory    *memory
	requested string
	now       time.Time
}

// remember returns the memory of an InstanceSource. Another one of that name has no part in it.
func (r *reconciler) remember(key types.NamespacedName, uid types.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memories[key]
	if m == nil || m.uid != uid {
		m = &memory{uid: uid}
		r.memories[key] = m
	}
	return m
}

func (r *reconciler) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, key)
}

// interval returns the time between two renderings of the same.
func (s *session) interval() time.Duration {
	if i := s.source.Spec.Interval; i != nil {
		return max(i.Duration, v1alpha1.MinInterval)
	}
	return v1alpha1.DefaultInterval
}
