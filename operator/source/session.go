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
	// started is the time at which the controller was started.
	started time.Time

	mu       sync.Mutex // guards the map, and platforms and wantsRoom of each memory
	memories map[types.NamespacedName]*memory
}

// memory has the outcome of the last rendering of an InstanceSource. It isn't stored: after a
// restart, the manager renders again.
type memory struct {
	uid types.UID
	// input identifies the files and the settings of the last rendering, and address the revision
	// and the address of the archive.
	input, address string
	// platforms identify the platforms that the last rendering used by their kinds, "" for kinds
	// without one.
	platforms map[schema.GroupKind]string
	// wantsRoom is set while an archive is saved, and stays set if it exceeds a quota.
	wantsRoom bool
	// failure is the failure of the last rendering. If it is nil, result is its result.
	failure *failure
	result  *result
	// due is when the result is checked, or a failure that may pass is tried again.
	due time.Time
	// failures counts failures in a row.
	failures int
	// published is the digest of the archive that was published last, and former that of the archive
	// before it. Each is "" if it isn't known. The status shows the first, but later.
	published, former string
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
	// failing is set if the rendering, or what it needs, has failed.
	failing bool
}

// remember returns the memory of an InstanceSource, which is new if another one had the name before.
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

// interval returns the time between two checks of an artifact.
func (s *session) interval() time.Duration {
	if i := s.source.Spec.Interval; i != nil {
		return max(i.Duration, v1alpha1.MinInterval)
	}
	return v1alpha1.DefaultInterval
}
