package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// advance continues a rollout that is not halted: within its batch, to the next one, or to
// the end.
func (r *run) advance() {
	s := &r.state
	if s.Batch == 0 {
		r.startFirst()
		return
	}
	if s.BatchStartedAt == nil {
		s.BatchStartedAt = r.now()
	}
	if r.unsettled() > 0 {
		r.wakeAt = s.BatchStartedAt.Add(r.deadline())
	}
	if open := min(s.Allowed-len(r.updated), len(r.pending)); open > 0 {
		s.BatchReadyAt = nil
		r.update = r.pending[:open]
		r.progress()
		return
	}
	if r.unsettled() > 0 {
		s.BatchReadyAt = nil
		r.progress()
		return
	}
	if target := r.target(s.Batch); s.Allowed < target && len(r.pending) > 0 {
		// The next step of the first batch, or instances that were added to a batch.
		s.Allowed, s.BatchStartedAt, s.BatchReadyAt = r.step(target), r.now(), nil
		r.progress()
		return
	}
	if s.BatchReadyAt == nil {
		s.BatchReadyAt = r.now()
	}
	if s.Batch < len(r.batches) && len(r.pending) > 0 {
		r.start()
		return
	}
	r.finish()
}

// startFirst starts the first batch, unless it must wait. Its canaries are chosen at that
// moment, of the instances that exist then.
func (r *run) startFirst() {
	s := &r.state
	if r.batches.step(r.total()) < r.total() {
		for _, in := range canariesOf(r.pending) {
			s.Canaries = append(s.Canaries, in.name())
		}
	}
	if r.start(); s.Batch == 0 {
		s.Canaries = nil
	}
}

// start starts the next batch, unless it must wait.
func (r *run) start() {
	s := &r.state
	next := r.batches.next(s.Batch, len(r.updated), r.total(), r.canaries())
	if s.BatchReadyAt != nil && r.Settings.PauseBetween != nil {
		if until := s.BatchReadyAt.Add(r.Settings.PauseBetween.Duration); r.Now.Before(until) {
			r.wakeAt = until
			r.phase(v1alpha1.RolloutPaused, fmt.Sprintf("batch %d of %d starts at %s", next, len(r.batches), until.UTC().Format(time.RFC3339)))
			return
		}
	}
	if why := r.unapproved(next); why != "" {
		r.phase(v1alpha1.RolloutPending, fmt.Sprintf("batch %d of %d waits for an approval: %s", next, len(r.batches), why))
		return
	}
	s.Batch, s.BatchStartedAt, s.BatchReadyAt = next, r.now(), nil
	s.Allowed = r.step(r.target(next))
	r.progress()
}

// finish gives the new version to the instances whose graph stays the same, and ends the
// rollout.
func (r *run) finish() {
	if r.Recorded.BatchReadyAt != nil {
		// Some of these instances may have the new version already, and don't count.
		r.state.Updated, r.state.Total = r.Recorded.Updated, r.Recorded.Total
	}
	if r.update = r.same; len(r.update) > 0 {
		r.phase(v1alpha1.RolloutProgressing, fmt.Sprintf("%d instances get the new version without a change", len(r.same)))
		return
	}
	r.phase(v1alpha1.RolloutCompleted, "")
}

// progress sets the phase of a batch that is carried out.
func (r *run) progress() {
	r.phase(v1alpha1.RolloutProgressing, fmt.Sprintf("batch %d of %d: %d of %d instances have the new version",
		r.state.Batch, len(r.batches), len(r.updated), r.total()))
}

// target returns the number of updated instances at the end of a batch.
func (r *run) target(batch int) int { return r.batches.target(batch, r.total(), r.canaries()) }

// step returns the next number of allowed instances. The first batch is carried out in
// steps, because its canaries may be more instances than its size.
func (r *run) step(target int) int {
	if r.state.Batch > 1 {
		return target
	}
	return min(target, len(r.updated)+r.batches.step(r.total()))
}

// unapproved explains which approval a batch lacks, or returns "".
func (r *run) unapproved(batch int) string {
	a := r.Settings.Approval
	switch {
	case a == nil || a.Mode == v1alpha1.ApprovalAutomatic:
		return ""
	case a.Digest != r.To.Digest:
		return "set spec.rollout.approval.digest to " + r.To.Digest
	case a.Mode == v1alpha1.ApprovalBatch && a.Batch < batch:
		return fmt.Sprintf("set spec.rollout.approval.batch to %d", batch)
	}
	return ""
}

// halted reports whether the rollout is halted, by the recorded state or by the failures of
// instances.
func (r *run) halted() bool {
	if r.state.Phase == v1alpha1.RolloutHalted {
		return true
	}
	halt := v1alpha1.RolloutHalt{}
	if r.Settings.HaltWhen != nil {
		halt = *r.Settings.HaltWhen
	}
	if n := len(r.refused); r.state.Batch == 0 && n > 0 && n >= threshold(halt.RefusedInstances, r.all) {
		first := r.refused[0]
		r.halt(v1alpha1.HaltInstanceRefused, first, fmt.Sprintf("the new version refuses %d of %d instances: %s: %s", n, r.all, first.name(), first.Refused))
		return true
	}
	var first *Instance
	n, reason := 0, ""
	for _, in := range r.updated {
		why := r.failure(in)
		if why == "" {
			continue
		}
		if n++; first == nil {
			first, reason = in, why
		}
	}
	if n == 0 || n < threshold(halt.FailedInstances, len(r.updated)) {
		return false
	}
	message := first.Message
	if reason == v1alpha1.HaltDeadlineExceeded {
		message = strings.TrimSuffix("not ready within "+r.deadline().String()+": "+message, ": ")
	}
	r.halt(reason, first, fmt.Sprintf("batch %d of %d: %d of %d instances with the new version failed: %s: %s",
		r.state.Batch, len(r.batches), n, len(r.updated), first.name(), cmp.Or(message, "failed")))
	return true
}

// halt sets the phase of a halted rollout.
func (r *run) halt(reason string, in *Instance, message string) {
	if len(message) > v1alpha1.MaxMessage {
		message = message[:v1alpha1.MaxMessage-len("…")] + "…"
	}
	r.phase(v1alpha1.RolloutHalted, message)
	r.state.HaltedReason, r.state.HaltedInstance = reason, in.name()
}

// failure returns why an updated instance counts as failed, or "".
func (r *run) failure(in *Instance) string {
	switch {
	case in.Failed:
		return v1alpha1.HaltInstanceFailed
	case in.Ready || r.state.BatchStartedAt == nil || r.Now.Before(r.state.BatchStartedAt.Add(r.deadline())):
		return ""
	}
	return v1alpha1.HaltDeadlineExceeded
}

// unsettled returns the number of updated instances that are neither ready nor failed.
func (r *run) unsettled() int {
	n := 0
	for _, in := range r.updated {
		if !in.Ready && r.failure(in) == "" {
			n++
		}
	}
	return n
}

// deadline returns the time in which the instances of a batch must become ready.
func (r *run) deadline() time.Duration {
	if r.Settings.HaltWhen != nil && r.Settings.HaltWhen.ProgressDeadline != nil {
		return r.Settings.HaltWhen.ProgressDeadline.Duration
	}
	return v1alpha1.DefaultProgressDeadline
}
