package monitor

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// memory has what one process knows about Monitors and doesn't store.
type memory struct {
	mu sync.Mutex
	of map[types.NamespacedName]*known
}

// known is what is known about one Monitor. Only its reconciliation uses most of it; what
// goroutines hand over is in inbox, which the mutex of memory guards.
type known struct {
	uid        types.UID
	generation int64
	plan       *verdict.Plan
	// status is the newest status, with polls that weren't worth a write.
	status *v1alpha1.MonitorStatus
	states verdict.States
	// vars are the variables of firings whose reactions have not ended.
	vars map[string]map[string]any
	// read is set after the first reading of this process.
	read bool
	// writtenAt is the time of the last write.
	writtenAt time.Time
	// graph is the name of the graph that was read to find the instance, which may be nil.
	graph    string
	instance *metav1.PartialObjectMetadata
	inbox
}

// inbox is what goroutines change.
type inbox struct {
	// due is the time of the next poll, and woken is set if it comes early.
	due   time.Time
	woken bool
	// begunAt is the time at which the last poll began.
	begunAt time.Time
	// cancel ends the poll in flight, or is nil.
	cancel   context.CancelFunc
	finished *round
	reacting bool
	reacted  *reacted
	tally
}

// round is a finished reading of all targets.
type round struct {
	generation int64
	reading    verdict.Reading
	err        error
	at         time.Time
	took       time.Duration
}

// reacted is a firing whose reactions have ended.
type reacted struct {
	firing v1alpha1.MonitorFiring
	done   []string
	err    error
	failed string // the reaction that failed
	// dropped is set if there was nothing to do, because the rule has changed since it fired.
	dropped bool
}

// get returns what is known about a Monitor. A Monitor that was made again with the same name is
// another one.
func (m *memory) get(name types.NamespacedName, uid types.UID) (*known, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of[name]
	if k == nil || k.uid != uid && k.uid != "" {
		if k != nil && k.cancel != nil {
			k.cancel()
		}
		k = &known{}
		m.of[name] = k
	}
	if k.uid == "" {
		k.uid, k.states, k.vars = uid, verdict.States{}, map[string]map[string]any{}
	}
	return k, len(m.of)
}

// change changes what is known about a Monitor, if anything is.
func (m *memory) change(name types.NamespacedName, change func(*known)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.of[name]; k != nil {
		change(k)
	}
}

// forget drops everything about a Monitor, and ends its poll. It returns how many are left.
func (m *memory) forget(name types.NamespacedName) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.of[name]; k != nil && k.cancel != nil {
		k.cancel()
	}
	delete(m.of, name)
	return len(m.of)
}

// count counts a reading.
func (k *known) count(finished *round) {
	k.LastPollAt, k.LastPollSeconds = finished.at, finished.took.Seconds()
	for _, p := range finished.reading.Polls {
		k.Polls++
		if p.Err != nil {
			k.Failures++
		}
	}
}

// take returns what goroutines have handed over, and empties the inbox of it.
func (m *memory) take(k *known) (*round, *reacted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	finished, done := k.finished, k.reacted
	k.finished, k.reacted = nil, nil
	return finished, done
}

// key identifies a firing.
func key(f v1alpha1.MonitorFiring) string {
	return fmt.Sprint(f.Rule, "/", f.Target, "/", f.UID, "/", f.At.UnixMicro())
}
