package verdict

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/rules"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// memory returns the memory of a rule about a target. The cooldown is that of the target, and the
// limit that of all targets, so the last firing of the target is the last one of the list.
func memory(m v1alpha1.MonitorMemory, recent []metav1.MicroTime) rules.Memory {
	r := rules.Memory{
		Holds: m.Holds, Digest: m.Confirmed, Candidate: m.Candidate, Owed: m.Owed, Tripped: m.Tripped,
	}
	if m.Since != nil {
		r.Since = m.Since.Time
	}
	own := false
	for _, at := range recent {
		// Other targets may have fired at the same time, in the same reading.
		if !own && m.FiredAt != nil && at.Equal(m.FiredAt) {
			own = true
			continue
		}
		r.Fired = append(r.Fired, at.Time)
	}
	if m.FiredAt != nil {
		r.Fired = append(r.Fired, m.FiredAt.Time)
	} else if len(r.Fired) > 0 {
		r.Fired = append(r.Fired, time.Time{}) // no cooldown
	}
	return r
}

// store stores the memory of a rule, but for the firings.
func store(m *v1alpha1.MonitorMemory, r rules.Memory) {
	m.Holds, m.Confirmed, m.Candidate, m.Owed, m.Tripped, m.Since = r.Holds, r.Digest, r.Candidate, r.Owed, r.Tripped, nil
	if !r.Since.IsZero() {
		m.Since = microOf(r.Since)
	}
}

// recent returns the firings that count for the limit, with one more.
func recent(r rules.Rule, before []metav1.MicroTime, now time.Time) []metav1.MicroTime {
	if r.Limit == 0 {
		return nil
	}
	all := slices.DeleteFunc(slices.Clone(before), func(at metav1.MicroTime) bool { return now.Sub(at.Time) >= r.Per })
	return append(all, *microOf(now))
}
