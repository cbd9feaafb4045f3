package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// sequences is the number of random rollouts of each property test.
const sequences = 12_000

// randomWorld returns a world with random instances, groups and settings.
func randomWorld(t testing.TB, r *rand.Rand) *world {
	settings := &v1alpha1.Rollout{}
	for range r.IntN(4) {
		size := intstr.FromInt32(int32(1 + r.IntN(6)))
		if r.IntN(2) == 0 {
			size = intstr.FromString(fmt.Sprintf("%d%%", 1+r.IntN(100)))
		}
		settings.Batches = append(settings.Batches, size)
	}
	if r.IntN(2) == 0 {
		settings.PauseBetween = &metav1.Duration{Duration: time.Minute}
	}
	if r.IntN(2) == 0 {
		settings.OrderBy = []v1alpha1.RolloutOrder{{By: v1alpha1.OrderByRandom}}
	}
	w := newWorld(t, 1+r.IntN(20), settings)
	groups := 1 + r.IntN(5)
	for i := range w.instances {
		if w.instances[i].Change = fmt.Sprint("group", r.IntN(groups)); r.IntN(8) == 0 {
			w.instances[i].Change = ""
		}
		if r.IntN(10) == 0 {
			w.instances[i].Annotations = map[string]string{v1alpha1.AnnotationPinnedVersion: "old"}
		}
	}
	return w
}

// A manager that is killed at random moments changes the same instances in the same order as
// one that isn't, and none of them twice. The order is that of Plan, and no instance of
// a batch changes before all instances of the batches before are ready.
func TestKilled(t *testing.T) {
	for seed := range uint64(sequences) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := randomWorld(t, r)
		// batchOf is the batch of each instance by the plan, and order their order.
		batchOf := map[string]int{}
		var order []string
		for _, b := range Plan(w.settings, w.to, w.instances) {
			for _, in := range slices.Concat(b.Canaries, b.Instances) {
				batchOf[in.Name] = b.Number
				order = append(order, in.Name)
			}
		}
		kills := 0
		w.kill = func() bool {
			if r.IntN(4) == 0 {
				kills++
				return true
			}
			return false
		}
		// Instances become ready at random times; until then a rollout must wait.
		w.outcome = func(in *Instance, _ string) (bool, bool) {
			batch, changes := batchOf[in.Name], in.Change != ""
			for i := range w.instances {
				other := &w.instances[i]
				earlier := batchOf[other.Name] != 0 && (batchOf[other.Name] < batch || !changes)
				if earlier && (other.Digest != w.to.Digest || !other.Ready) {
					t.Fatalf("seed %d: %s changes before %s is ready", seed, in.Name, other.Name)
				}
			}
			return r.IntN(2) == 0, false
		}
		for range 5_000 {
			if w.recorded.Phase == v1alpha1.RolloutCompleted && !w.work() {
				break
			}
			if w.work() {
				continue
			}
			if i := r.IntN(len(w.instances)); w.instances[i].Digest == w.to.Digest {
				w.instances[i].Ready = true
			}
			if w.recorded.Phase == v1alpha1.RolloutPaused {
				w.now = w.now.Add(20 * time.Second)
			}
		}
		if w.recorded.Phase != v1alpha1.RolloutCompleted {
			t.Fatalf("seed %d: not completed: %+v", seed, w.recorded)
		}
		changed := strings.Fields(w.names(0))
		if !slices.Equal(changed[:len(order)], order) {
			t.Fatalf("seed %d: after %d kills:\nchanged %v\nplan    %v", seed, kills, changed, order)
		}
		for _, in := range w.instances {
			if pinned := in.Annotations != nil; pinned != (in.Digest == "old") {
				t.Fatalf("seed %d: %s (pinned: %t) has %s at the end", seed, in.Name, pinned, in.Digest)
			}
		}
	}
}

// Whatever happens to instances and settings, a rollout keeps its promises: no instance gets
// a version that it has, a halted or aborted rollout changes none forward, no more instances
// change than are allowed by the record, pinned ones keep theirs, and in the end all
// others have the version that the phase stands for.
func TestDisturbed(t *testing.T) {
	for seed := range uint64(sequences) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := randomWorld(t, r)
		w.kill = func() bool { return r.IntN(6) == 0 }
		versions := 0
		w.outcome = func(in *Instance, digest string) (bool, bool) {
			forward := digest == w.to.Digest
			switch s := w.recorded; {
			case s.ToDigest != w.to.Digest:
				t.Fatalf("seed %d: %s changes to %s before that is recorded: %+v", seed, in.Name, digest, s)
			case forward && (s.Phase == v1alpha1.RolloutHalted || s.Phase == v1alpha1.RolloutAborted || s.Phase == v1alpha1.RolloutAborting):
				t.Fatalf("seed %d: %s changes in phase %s", seed, in.Name, s.Phase)
			case !forward && s.Phase != v1alpha1.RolloutAborting:
				t.Fatalf("seed %d: %s is restored in phase %s", seed, in.Name, s.Phase)
			case forward && in.Annotations != nil:
				t.Fatalf("seed %d: the pinned %s changes", seed, in.Name)
			case forward && in.Change != "" && s.Phase == v1alpha1.RolloutProgressing:
				updated := 0
				for i := range w.instances {
					if w.instances[i].Digest == w.to.Digest {
						updated++
					}
				}
				if updated > s.Allowed { // in has the version already
					t.Fatalf("seed %d: %d instances have the version, and %d are allowed", seed, updated, s.Allowed)
				}
			}
			return r.IntN(2) == 0, forward && r.IntN(12) == 0
		}
		for range 60 {
			w.work()
			disturb(w, r, &versions)
			w.now = w.now.Add(time.Duration(r.IntN(40)) * time.Second)
		}
		// At rest, with all instances ready, the rollout ends.
		w.kill = func() bool { return false }
		w.outcome = func(*Instance, string) (bool, bool) { return true, false }
		for i := range w.instances {
			w.instances[i].Ready, w.instances[i].Failed = true, false
		}
		w.resume = "at the end"
		s := w.run()
		want := w.to.Digest
		if s.Phase == v1alpha1.RolloutAborted {
			want = s.FromDigest
		} else if s.Phase != v1alpha1.RolloutCompleted {
			t.Fatalf("seed %d: ends with %+v", seed, s)
		}
		for _, in := range w.instances {
			// An abort restores only instances that have the aborted version.
			if in.Annotations == nil && in.Digest != want && (s.Phase == v1alpha1.RolloutCompleted || in.Digest == w.to.Digest) {
				t.Fatalf("seed %d: %s has %s at the end, not %s: %+v", seed, in.Name, in.Digest, want, s)
			}
		}
	}
}

// disturb changes something in a world.
func disturb(w *world, r *rand.Rand, versions *int) {
	i := r.IntN(len(w.instances))
	in := &w.instances[i]
	switch n := r.IntN(24); {
	case n < 10:
		in.Ready, in.Failed = true, false
	case n < 12:
		in.Ready = false
	case n < 14:
		in.Change = fmt.Sprint("edited", r.IntN(3))
	case n == 14 && len(w.instances) > 1:
		w.instances = slices.Delete(w.instances, i, i+1)
	case n == 15:
		w.instances = append(w.instances, Instance{
			NamespacedName: types.NamespacedName{Name: fmt.Sprint("late", r.IntN(1e9))}, Digest: w.decide().Create, Change: "image",
		})
	case n == 16:
		if in.Annotations = nil; r.IntN(2) == 0 {
			in.Annotations = map[string]string{v1alpha1.AnnotationPinnedVersion: in.Digest}
			if in.Digest == w.to.Digest {
				in.Annotations = nil
			}
		}
	case n == 17:
		*versions++
		w.to = Version{Digest: fmt.Sprint("new", *versions)}
	case n == 18:
		w.settings.AbortedDigest = w.to.Digest
	case n == 19:
		w.settings.AbortedDigest = ""
	case n < 22:
		w.resume = fmt.Sprint(r.IntN(1e9))
	case n == 22:
		w.settings.Batches = sizes(1+r.IntN(4), "70%")
	}
}
