package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// world is a cluster with instances of one platform, and a manager that executes the
// decisions of a rollout.
type world struct {
	t         testing.TB
	settings  *v1alpha1.Rollout
	to        Version
	instances []Instance
	recorded  v1alpha1.RolloutStatus
	resume    string
	now       time.Time
	// outcome returns the state of an instance that has a version.
	outcome func(in *Instance, digest string) (ready, failed bool)
	// changes are the changes in their order, as NAME=DIGEST.
	changes []string
	// kill is called before each write. If it returns true, the manager dies.
	kill func() bool
}

func newWorld(t testing.TB, n int, settings *v1alpha1.Rollout) *world {
	w := &world{t: t, settings: settings, to: Version{Digest: "new", Version: "v2"}, now: time.Unix(1e9, 0)}
	for i := range n {
		w.instances = append(w.instances, Instance{
			NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("i%03d", i)},
			Digest:         "old", Change: "image", Ready: true,
		})
	}
	w.outcome = func(*Instance, string) (bool, bool) { return true, false }
	w.kill = func() bool { return false }
	return w
}

// decide returns the decision about the present state.
func (w *world) decide() Decision {
	return Decide(Input{
		Settings: w.settings, From: Version{Digest: "old"}, To: w.to, Instances: w.instances,
		Recorded: w.recorded, ResumeRequest: w.resume, Now: w.now,
	})
}

// work executes one decision. It reports whether anything was written. A manager that dies
// leaves the rest undone.
func (w *world) work() bool {
	d := w.decide()
	if d.Record {
		if len(d.Update)+len(d.Restore) > 0 {
			w.t.Fatal("a decision that must be recorded has changes")
		}
		if !w.kill() {
			w.recorded = d.State
		}
		return true
	}
	w.recorded = d.State
	for _, change := range []struct {
		names  []types.NamespacedName
		digest string
	}{{d.Update, w.to.Digest}, {d.Restore, d.State.FromDigest}} {
		for _, name := range change.names {
			if w.kill() {
				return true
			}
			w.change(w.instance(name), change.digest)
		}
	}
	return len(d.Update)+len(d.Restore) > 0
}

// change gives an instance a version.
func (w *world) change(in *Instance, digest string) {
	if in.Digest == digest {
		w.t.Fatalf("%s is changed twice", in.Name)
	}
	in.Digest = digest
	in.Ready, in.Failed = w.outcome(in, digest)
	w.changes = append(w.changes, in.Name+"="+digest)
}

func (w *world) instance(name types.NamespacedName) *Instance {
	for i := range w.instances {
		if w.instances[i].NamespacedName == name {
			return &w.instances[i]
		}
	}
	w.t.Fatalf("no instance %s", name)
	return nil
}

// run works until nothing is left to do, and advances the time if a decision waits for it.
func (w *world) run() v1alpha1.RolloutStatus {
	w.t.Helper()
	for range 10_000 {
		if w.work() {
			continue
		}
		d := w.decide()
		if d.WakeAt.IsZero() {
			return w.recorded
		}
		w.now = d.WakeAt
	}
	w.t.Fatalf("the rollout doesn't end: %+v", w.recorded)
	return w.recorded
}

// names returns the instances that were changed since n changes.
func (w *world) names(n int) string {
	var names []string
	for _, c := range w.changes[n:] {
		names = append(names, strings.TrimSuffix(c, "="+w.to.Digest))
	}
	return strings.Join(names, " ")
}

func sizes(values ...any) []intstr.IntOrString {
	var out []intstr.IntOrString
	for _, v := range values {
		switch v := v.(type) {
		case int:
			out = append(out, intstr.FromInt32(int32(v)))
		case string:
			out = append(out, intstr.FromString(v))
		}
	}
	return out
}
