package instance

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// run publishes the numbers of the instances when one of them has changed, until ctx is done.
func (c counter) run(ctx context.Context, publish func()) {
	c.recount() // there may be none
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
		publish()
		select {
		case <-ctx.Done():
			return
		case <-time.After(countPause):
		}
	}
}

// tally has the numbers of the instances of a kind. It follows each change of one of them, so that
// nobody has to look at all.
type tally struct {
	// phases counts the instances by the phase of their status; without one they are Pending.
	phases map[string]int
	pinned int
	// unshown counts those without a member, and behind those whose member is behind.
	unshown, behind int
	// used counts the instances by the digest of the module that their graph has, and by the version
	// that they are pinned to. It has no zeros.
	used map[string]int
}

func newTally() tally {
	return tally{phases: map[string]int{phasePending: 0, phaseRendering: 0, phaseReady: 0, phaseFailed: 0}, used: map[string]int{}}
}

// add adds an instance, or takes it away if n is -1, as it is before it changes.
func (t *tally) add(m *memory, n int) {
	phase, _, _ := unstructured.NestedString(m.instance.Object, "status", "phase")
	if _, known := t.phases[phase]; !known {
		phase = phasePending
	}
	t.phases[phase] += n
	pin := m.instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion]
	if pin != "" {
		t.pinned += n
	}
	uses := []string{pin}
	if m.member == nil {
		t.unshown += n
	} else if uses = append(uses, m.member.digest); m.member.behind {
		t.behind += n
	}
	for _, version := range uses {
		if t.used[version] += n; t.used[version] == 0 {
			delete(t.used, version)
		}
	}
}
