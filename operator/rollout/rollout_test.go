package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// A module breaks 7 of 100 instances in one way: one of them changes, and the status names
// it. An abort restores it.
func TestBrokenVersion(t *testing.T) {
	for name, others := range map[string]string{"nothing else changes": "", "all change": "image"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, &v1alpha1.Rollout{Batches: sizes(1, "10%", "50%", "100%")})
			for i := range w.instances {
				if w.instances[i].Change = others; i%14 == 3 && i < 95 {
					w.instances[i].Change = "broken"
				}
			}
			w.outcome = func(in *Instance, digest string) (bool, bool) {
				broken := digest == "new" && in.Change == "broken"
				if broken {
					in.Message = "Deployment: no such image"
				}
				return !broken, broken
			}
			s := w.run()
			broken := 0
			for _, in := range w.instances {
				if in.Failed {
					broken++
				}
			}
			if broken != 1 || others == "" && len(w.changes) != 1 || len(w.changes) > 2 {
				t.Errorf("changed %v", w.changes)
			}
			want := v1alpha1.RolloutStatus{
				Phase: v1alpha1.RolloutHalted, Batch: 1, HaltedReason: v1alpha1.HaltInstanceFailed, HaltedInstance: "shop/i003",
				Message: fmt.Sprintf("batch 1 of 4: 1 of %d instances with the new version failed: shop/i003: Deployment: no such image", len(w.changes)),
			}
			got := v1alpha1.RolloutStatus{Phase: s.Phase, Batch: s.Batch, HaltedReason: s.HaltedReason, HaltedInstance: s.HaltedInstance, Message: s.Message}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			// The failed instance recovers. The rollout stays halted until it is resumed.
			w.instance(types.NamespacedName{Namespace: "shop", Name: "i003"}).Failed = false
			w.instance(types.NamespacedName{Namespace: "shop", Name: "i003"}).Ready = true
			n := len(w.changes)
			if s := w.run(); s.Phase != v1alpha1.RolloutHalted || len(w.changes) != n {
				t.Errorf("phase %s after the recovery, and %d more changes", s.Phase, len(w.changes)-n)
			}
			w.settings.AbortedDigest = "new"
			if s := w.run(); s.Phase != v1alpha1.RolloutAborted || s.HaltedReason != "" {
				t.Errorf("aborted: %+v", s)
			}
			if len(w.changes) != 2*n {
				t.Errorf("restored %v of %d", w.changes[n:], n)
			}
			for _, in := range w.instances {
				if in.Digest != "old" {
					t.Errorf("%s has %s after the abort", in.Name, in.Digest)
				}
			}
		})
	}
}

// Each batch ends with the number of instances that it should have, and the next one
// begins after the pause.
func TestBatches(t *testing.T) {
	w := newWorld(t, 25, &v1alpha1.Rollout{Batches: sizes(1, "10%", "50%"), PauseBetween: &metav1.Duration{Duration: time.Hour}})
	w.instances[7].Change = "" // keeps its graph
	w.instances[9].Annotations = map[string]string{v1alpha1.AnnotationPinnedVersion: "old"}
	w.instances[11].Refused = "spec.size: 3 is not >=4"
	w.settings.HaltWhen = &v1alpha1.RolloutHalt{RefusedInstances: &intstr.IntOrString{IntVal: 2}}
	var counts []int
	var times []time.Duration
	began := w.now
	for w.recorded.Phase != v1alpha1.RolloutCompleted {
		if w.work() {
			continue
		}
		d := w.decide()
		if w.recorded.Phase != v1alpha1.RolloutPaused || d.WakeAt.IsZero() {
			t.Fatalf("the rollout waits: %+v", w.recorded)
		}
		counts, times = append(counts, len(w.changes)), append(times, d.WakeAt.Sub(began))
		w.now = d.WakeAt
	}
	// 22 instances change; the one that keeps its graph follows at the end.
	if diff := cmp.Diff([]int{1, 3, 11}, counts); diff != "" || len(w.changes) != 23 || w.changes[22] != "i007=new" {
		t.Errorf("changes after the batches (-want +got):\n%s\n%v", diff, w.changes)
	}
	if diff := cmp.Diff([]time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}, times); diff != "" {
		t.Errorf("starts of the batches (-want +got):\n%s", diff)
	}
	if s := w.recorded; s.Updated != 22 || s.Total != 22 || s.Batch != 4 || s.Batches != 4 {
		t.Errorf("status %+v", s)
	}
	// Later an instance is unpinned, and follows at once. The next version starts another rollout.
	w.instances[9].Annotations = nil
	if w.run(); w.instances[9].Digest != "new" {
		t.Error("the unpinned instance doesn't follow")
	}
	w.to = Version{Digest: "newer"}
	if s := w.decide().State; s.FromDigest != "new" || s.ToDigest != "newer" || s.Batch != 1 {
		t.Errorf("status of the next rollout %+v", s)
	}
}

// The first batch has an instance of each impact group, and changes as many at a time as its
// size allows.
func TestCanaries(t *testing.T) {
	w := newWorld(t, 20, &v1alpha1.Rollout{Batches: sizes(2, "50%")})
	for i := range w.instances {
		w.instances[i].Change = fmt.Sprint("group", i/4) // five groups of four
		w.instances[i].Ready = false
	}
	w.outcome = func(*Instance, string) (bool, bool) { return false, false }
	for _, want := range []string{"i000 i004", "i008 i012", "i016", "i001 i002 i003 i005 i006"} {
		n := len(w.changes)
		for w.work() {
		}
		if got := w.names(n); got != want {
			t.Fatalf("changed %q, want %q", got, want)
		}
		for i := range w.instances {
			w.instances[i].Ready = w.instances[i].Digest == "new"
		}
	}
}

// Of too many groups, the largest have canaries.
func TestManyGroups(t *testing.T) {
	w := newWorld(t, 300, &v1alpha1.Rollout{Batches: sizes(1)})
	for i := range w.instances {
		if w.instances[i].Change = fmt.Sprint("own", i); i >= 298 {
			w.instances[i].Change = "shared"
		}
	}
	w.work()
	if c := w.recorded.Canaries; len(c) != v1alpha1.MaxCanaries || c[99] != "shop/i298" || c[0] != "shop/i000" {
		t.Errorf("%d canaries: %v", len(c), c)
	}
}

// Failures below the threshold don't stop the rollout; one that isn't ready in time counts.
func TestHaltWhen(t *testing.T) {
	share := intstr.FromString("20%")
	w := newWorld(t, 10, &v1alpha1.Rollout{
		Batches:  sizes(5),
		HaltWhen: &v1alpha1.RolloutHalt{FailedInstances: &share, ProgressDeadline: &metav1.Duration{Duration: time.Minute}},
	})
	w.outcome = func(in *Instance, digest string) (bool, bool) {
		in.Message = "ApplyFailed: quota exceeded"
		return in.Name != "i002" && in.Name != "i006" && in.Name != "i007", false
	}
	began := w.now
	s := w.run()
	if want := "shop/i002: not ready within 1m0s: ApplyFailed: quota exceeded"; !strings.HasSuffix(s.Message, want) {
		t.Errorf("%q; want %q at its end", s.Message, want)
	}
	// One of five is 20 %.
	if s.Phase != v1alpha1.RolloutHalted || s.HaltedReason != v1alpha1.HaltDeadlineExceeded || s.HaltedInstance != "shop/i002" || len(w.changes) != 5 || w.now.Sub(began) != time.Minute {
		t.Fatalf("after %s: %+v", w.now.Sub(began), s)
	}
	// With a larger share, a request to resume continues until the next batch exceeds it.
	share = intstr.FromString("30%")
	w.resume = "again"
	if s = w.run(); s.Phase != v1alpha1.RolloutHalted || s.Batch != 2 || len(w.changes) != 10 {
		t.Fatalf("resumed: %+v", s)
	}
	// A request is handled once.
	if s = w.run(); s.Phase != v1alpha1.RolloutHalted || s.ResumeRequest != "again" {
		t.Fatalf("resumed again: %+v", s)
	}
	share = intstr.FromString("40%")
	w.resume = "once more"
	if s = w.run(); s.Phase != v1alpha1.RolloutCompleted {
		t.Fatalf("resumed at the end: %+v", s)
	}
}

// A version that refuses instances halts before it changes any.
func TestRefused(t *testing.T) {
	w := newWorld(t, 10, &v1alpha1.Rollout{})
	w.instances[4].Refused = "spec.size: 3 is not >=4"
	s := w.run()
	if s.Phase != v1alpha1.RolloutHalted || s.Batch != 0 || s.HaltedInstance != "shop/i004" || len(w.changes) != 0 ||
		s.Message != "the new version refuses 1 of 10 instances: shop/i004: spec.size: 3 is not >=4" {
		t.Errorf("status %+v, changes %v", s, w.changes)
	}
}

func TestApproval(t *testing.T) {
	w := newWorld(t, 10, &v1alpha1.Rollout{Batches: sizes(1, "50%"), Approval: &v1alpha1.RolloutApproval{Mode: v1alpha1.ApprovalBatch, Digest: "old", Batch: 3}})
	for _, step := range []struct {
		digest  string
		batch   int
		changed int
		phase   v1alpha1.RolloutPhase
		message string
	}{
		{"old", 3, 0, v1alpha1.RolloutPending, "batch 1 of 3 waits for an approval: set spec.rollout.approval.digest to new"},
		{"new", 0, 0, v1alpha1.RolloutPending, "batch 1 of 3 waits for an approval: set spec.rollout.approval.batch to 1"},
		{"new", 1, 1, v1alpha1.RolloutPending, "batch 2 of 3 waits for an approval: set spec.rollout.approval.batch to 2"},
		{"new", 3, 10, v1alpha1.RolloutCompleted, ""},
	} {
		w.settings.Approval.Digest, w.settings.Approval.Batch = step.digest, step.batch
		if s := w.run(); s.Phase != step.phase || s.Message != step.message || len(w.changes) != step.changed {
			t.Errorf("approved %s %d: %d changes, %+v", step.digest, step.batch, len(w.changes), s)
		}
	}
	w = newWorld(t, 10, &v1alpha1.Rollout{Batches: sizes(1, "50%"), Approval: &v1alpha1.RolloutApproval{Mode: v1alpha1.ApprovalDigest}})
	if s := w.run(); s.Phase != v1alpha1.RolloutPending || len(w.changes) != 0 {
		t.Errorf("not approved: %+v", s)
	}
	w.settings.Approval.Digest = "new"
	if s := w.run(); s.Phase != v1alpha1.RolloutCompleted || len(w.changes) != 10 {
		t.Errorf("approved: %+v", s)
	}
}

// Without settings, or as the first version, a version reaches all instances at once.
func TestAtOnce(t *testing.T) {
	w := newWorld(t, 10, nil)
	w.outcome = func(*Instance, string) (bool, bool) { return false, true }
	if s := w.run(); s.Phase != v1alpha1.RolloutCompleted || len(w.changes) != 10 || s.Updated != 10 {
		t.Errorf("without settings: %+v", s)
	}
	d := Decide(Input{Settings: &v1alpha1.Rollout{}, To: Version{Digest: "new"}, Now: w.now})
	if d.State.Phase != v1alpha1.RolloutCompleted || d.Create != "new" {
		t.Errorf("the first version: %+v", d)
	}
}

// Instances that are created during a rollout get the version before, and take part.
func TestCreated(t *testing.T) {
	w := newWorld(t, 4, &v1alpha1.Rollout{Batches: sizes(1)})
	w.outcome = func(*Instance, string) (bool, bool) { return false, false }
	for w.work() {
	}
	d := w.decide()
	if d.Create != "old" || len(w.changes) != 1 {
		t.Fatalf("creates with %s", d.Create)
	}
	w.instances = append(w.instances, Instance{NamespacedName: types.NamespacedName{Name: "late"}, Digest: d.Create, Change: "image", Ready: true})
	w.outcome = func(*Instance, string) (bool, bool) { return true, false }
	w.instances[0].Ready = true
	if s := w.run(); s.Phase != v1alpha1.RolloutCompleted || s.Total != 5 || w.decide().Create != "new" {
		t.Errorf("status %+v", s)
	}
}

// A version that replaces an unfinished one starts from the beginning; going back to the
// version before restores it at once.
func TestReplaced(t *testing.T) {
	w := newWorld(t, 10, &v1alpha1.Rollout{Batches: sizes(3)})
	w.outcome = func(*Instance, string) (bool, bool) { return false, true }
	w.run()
	w.to = Version{Digest: "newer"}
	w.outcome = func(*Instance, string) (bool, bool) { return true, false }
	if w.work(); w.recorded.FromDigest != "old" || w.recorded.Batch != 1 {
		t.Errorf("status %+v", w.recorded)
	}
	w.work()
	w.to = Version{Digest: "old"}
	if s := w.run(); s.Phase != v1alpha1.RolloutCompleted {
		t.Errorf("status %+v", s)
	}
	for _, in := range w.instances {
		if in.Digest != "old" {
			t.Errorf("%s has %s", in.Name, in.Digest)
		}
	}
}
