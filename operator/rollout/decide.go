package rollout

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Input is what a decision depends on.
type Input struct {
	// Settings is spec.rollout of the Transform. If it is nil, all instances get the new
	// version at once, and no failure halts the rollout.
	Settings *v1alpha1.Rollout
	// From is the version in use when no rollout was recorded, or zero if there was none.
	// Later the recorded state has it.
	From Version
	// To is the version that instances should have.
	To Version
	// Instances are all instances of the kind that are not being deleted.
	Instances []Instance
	// Recorded is status.rollout of the Transform, or zero.
	Recorded v1alpha1.RolloutStatus
	// ResumeRequest is the value of the Transform's annotation pequod.io/resume-rollout.
	ResumeRequest string
	Now           time.Time
}

// Decision is the next step of a rollout.
type Decision struct {
	// State is the state to record in status.rollout.
	State v1alpha1.RolloutStatus
	// Record is set if State must be recorded before anything else happens. Update and
	// Restore are empty then. Otherwise, State may still have counts or a message that
	// differ from the recorded ones.
	Record bool
	// Update are the instances that may get the new version now, in their order.
	Update []types.NamespacedName
	// Restore are the instances that must get back the version State.FromDigest.
	Restore []types.NamespacedName
	// Create is the digest of the version for instances that have no graph yet.
	Create string
	// WakeAt is the time at which the decision changes without a change of the instances.
	// It is zero if there is none.
	WakeAt time.Time
}

// Decide returns the next step of a rollout.
func Decide(in Input) Decision {
	r := &run{Input: in, state: *in.Recorded.DeepCopy(), batches: batchesOf(in.Settings)}
	r.begin()
	r.classify()
	switch {
	case r.aborted():
		r.abort()
	case r.state.FromDigest == "" || r.state.FromDigest == r.To.Digest || r.Settings == nil || r.state.Phase == v1alpha1.RolloutCompleted:
		r.complete()
	case r.halted():
	default:
		r.advance()
	}
	r.state.Batches = len(r.batches)
	d := Decision{State: r.state, Create: r.state.FromDigest, WakeAt: r.wakeAt}
	if r.state.Phase == v1alpha1.RolloutCompleted || r.state.FromDigest == "" {
		d.Create = r.To.Digest
	}
	if d.Record = !reflect.DeepEqual(decisive(r.state), decisive(in.Recorded)); !d.Record {
		d.Update, d.Restore = keys(r.update), keys(r.restore)
	}
	return d
}

// decisive returns the fields of a state that decide which instances change. The others
// are for readers.
func decisive(s v1alpha1.RolloutStatus) v1alpha1.RolloutStatus {
	s.Updated, s.Total, s.Message, s.Batches = 0, 0, "", 0
	if len(s.Canaries) == 0 {
		s.Canaries = nil
	}
	for _, t := range []**metav1.Time{&s.BatchStartedAt, &s.BatchReadyAt} {
		if *t != nil {
			// Times that were read from a cluster may have another location.
			*t = &metav1.Time{Time: time.Unix((*t).Unix(), 0).UTC()}
		}
	}
	return s
}

// run is the computation of one decision.
type run struct {
	Input
	batches batches
	// state is the next state.
	state v1alpha1.RolloutStatus

	// updated have the new version. pending don't, and change; same don't, and keep their
	// graph. Both are sorted, and have neither held nor refused instances.
	updated, pending, same []*Instance
	refused                []*Instance
	// all is the number of instances that aren't held.
	all int

	update, restore []*Instance
	wakeAt          time.Time
}

// begin starts a new state if the recorded one is that of another version, and handles a
// request to resume.
func (r *run) begin() {
	s := &r.state
	if s.ToDigest != r.To.Digest {
		from := r.From.Digest
		switch {
		case s.ToDigest == "":
		case s.Phase == v1alpha1.RolloutCompleted:
			from = s.ToDigest
		default:
			// Some instances have the version of the unfinished rollout. They take part
			// like the others, and an abort gives all the version before both.
			from = s.FromDigest
		}
		*s = v1alpha1.RolloutStatus{FromDigest: from, ToDigest: r.To.Digest, ResumeRequest: r.ResumeRequest, Phase: v1alpha1.RolloutPending}
	}
	if s.ResumeRequest != r.ResumeRequest {
		s.ResumeRequest = r.ResumeRequest
		if s.Phase == v1alpha1.RolloutHalted {
			r.phase(v1alpha1.RolloutProgressing, "")
			if s.BatchStartedAt != nil {
				s.BatchStartedAt = r.now()
			}
		}
	}
	if (s.Phase == v1alpha1.RolloutAborted || s.Phase == v1alpha1.RolloutAborting) && !r.aborted() {
		// The abort was taken back: the rollout starts from the beginning.
		*s = v1alpha1.RolloutStatus{FromDigest: s.FromDigest, ToDigest: s.ToDigest, ResumeRequest: s.ResumeRequest, Phase: v1alpha1.RolloutPending}
	}
}

// classify sorts the instances into lists.
func (r *run) classify() {
	var orderBy []v1alpha1.RolloutOrder
	if r.Settings != nil {
		orderBy = r.Settings.OrderBy
	}
	var pending, same []*Instance
	for i := range r.Instances {
		in := &r.Instances[i]
		switch {
		case in.Digest == r.To.Digest:
			r.updated = append(r.updated, in)
		case in.Held(r.To):
			continue
		case in.Digest == "":
			continue // gets the version of Decision.Create first
		case in.Refused != "":
			r.refused = append(r.refused, in)
		case in.Change == "":
			same = append(same, in)
		default:
			pending = append(pending, in)
		}
		r.all++
	}
	r.updated, r.refused = sorted(r.updated, orderBy, r.To.Digest), sorted(r.refused, orderBy, r.To.Digest)
	r.pending, r.same = sorted(pending, orderBy, r.To.Digest), sorted(same, orderBy, r.To.Digest)
	place := map[string]int{}
	for i, name := range r.state.Canaries {
		place[name] = i - len(r.state.Canaries)
	}
	slices.SortStableFunc(r.pending, func(a, b *Instance) int { return place[a.name()] - place[b.name()] })
	r.state.Updated, r.state.Total = len(r.updated), len(r.updated)+len(r.pending)
}

// total returns the number of instances that change.
func (r *run) total() int { return len(r.updated) + len(r.pending) }

// canaries returns the number of canaries that still take part.
func (r *run) canaries() int {
	n := 0
	for _, list := range [][]*Instance{r.updated, r.pending} {
		for _, in := range list {
			if slices.Contains(r.state.Canaries, in.name()) {
				n++
			}
		}
	}
	return n
}

// aborted reports whether the settings abort the rollout of this version.
func (r *run) aborted() bool {
	return r.Settings != nil && r.Settings.AbortedDigest == r.To.Digest && r.state.FromDigest != "" && r.state.FromDigest != r.To.Digest
}

// abort restores the instances that have the new version.
func (r *run) abort() {
	for _, in := range r.updated {
		if pin := in.Annotations[v1alpha1.AnnotationPinnedVersion]; pin == "" || pin != r.To.Digest && pin != r.To.Version {
			r.restore = append(r.restore, in)
		}
	}
	if len(r.restore) > 0 {
		r.phase(v1alpha1.RolloutAborting, fmt.Sprintf("%d instances get back the version before", len(r.restore)))
		return
	}
	r.phase(v1alpha1.RolloutAborted, "the rollout was aborted by spec.rollout.abortedDigest")
}

// complete gives all instances the new version.
func (r *run) complete() {
	if r.state.Phase == v1alpha1.RolloutCompleted {
		r.state.Updated, r.state.Total = r.Recorded.Updated, r.Recorded.Total
	} else {
		r.state.Updated = r.state.Total
	}
	r.phase(v1alpha1.RolloutCompleted, "")
	r.update = append(slices.Clone(r.pending), r.same...)
}

// phase sets the phase and the message. Only halted rollouts have a reason.
func (r *run) phase(phase v1alpha1.RolloutPhase, message string) {
	r.state.Phase, r.state.Message = phase, message
	r.state.HaltedReason, r.state.HaltedInstance = "", ""
}

// now returns the time as the status of an object can have it, in seconds.
func (r *run) now() *metav1.Time { return &metav1.Time{Time: time.Unix(r.Now.Unix(), 0).UTC()} }

// keys returns the names of instances.
func keys(instances []*Instance) []types.NamespacedName {
	var out []types.NamespacedName
	for _, in := range instances {
		out = append(out, in.NamespacedName)
	}
	return out
}
