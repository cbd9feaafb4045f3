package verdict

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// The reasons of the conditions of Monitors.
const (
	ReasonHealthy     = "Healthy"
	ReasonNoTargets   = "NoTargets"
	ReasonUnreachable = "TargetUnreachable"
	ReasonRuleHolds   = "RuleHolds"
	ReasonPaused      = "Paused"
	ReasonInvalid     = "InvalidMonitor"
	ReasonUnreadable  = "TargetsUnreadable"
)

// summarize sets the state of the rules for all targets, and the conditions.
func (p *Plan) summarize(s *v1alpha1.MonitorStatus, now time.Time) {
	var holding, lost []string
	for i, r := range p.rules {
		holds, tripped := false, false
		for _, t := range s.Targets {
			for _, m := range t.Rules {
				if m.Name == r.spec.Name {
					holds, tripped = holds || m.Holds, tripped || m.Tripped
				}
			}
		}
		status := &s.Rules[i]
		if holds != status.Holds || status.Since == nil {
			status.Since = timeOf(now)
		}
		if status.Holds, status.Tripped = holds, tripped; holds && r.spec.Severity == v1alpha1.MonitorError {
			holding = append(holding, r.spec.Name)
		}
	}
	for _, t := range s.Targets {
		if !t.Reachable {
			lost = append(lost, t.Name+": "+t.Message)
		}
	}
	switch {
	case len(holding) > 0:
		Progressing(s, ReasonRuleHolds, "rules of severity Error hold: "+strings.Join(holding, ", "), now)
	case len(lost) > 0:
		Progressing(s, ReasonUnreachable, fmt.Sprintf("%d of %d targets can't be read: %s", len(lost), len(s.Targets), strings.Join(lost, "; ")), now)
	case len(s.Targets) == 0:
		Progressing(s, ReasonNoTargets, "there is no target to read", now)
	default:
		state(s, now).Ready(ReasonHealthy, "all targets were read, and no rule of severity Error holds")
	}
}

// Progressing sets the conditions of a Monitor that isn't ready and may become ready by itself.
func Progressing(s *v1alpha1.MonitorStatus, reason, message string, now time.Time) {
	state(s, now).Progressing(reason, source.OneLine(message, maxMessage))
}

// Stalled sets the conditions of a Monitor that only a change makes ready.
func Stalled(s *v1alpha1.MonitorStatus, reason, message string, now time.Time) {
	state(s, now).Stalled(reason, source.OneLine(message, maxMessage))
}

func state(s *v1alpha1.MonitorStatus, now time.Time) conditions.Writer {
	return conditions.Writer{To: &s.Conditions, Generation: s.ObservedGeneration, Now: now}
}

// Same reports whether two statuses differ at most in the times of polls and in counts of
// failures. Such a difference isn't worth a write.
func Same(a, b *v1alpha1.MonitorStatus) bool {
	return equality.Semantic.DeepEqual(lasting(a), lasting(b))
}

// lasting returns a status without what changes at every poll.
func lasting(s *v1alpha1.MonitorStatus) *v1alpha1.MonitorStatus {
	s = s.DeepCopy()
	for i := range s.Targets {
		s.Targets[i].LastPollAt = nil
		s.Targets[i].Failures = min(s.Targets[i].Failures, 1)
	}
	return s
}
