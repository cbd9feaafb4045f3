package execute_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// sizes returns settings with batches.
func sizes(values ...any) *v1alpha1.Rollout {
	r := &v1alpha1.Rollout{}
	for _, v := range values {
		r.Batches = append(r.Batches, intstr.Parse(fmt.Sprint(v)))
	}
	return r
}

// A version that breaks 7 of 100 instances in one way changes one of them. The rollout is
// halted and says why; an abort restores the bytes of the graph, also by a manager that has
// lost its disk and never had the version before.
func TestBrokenVersion(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	b.create(b.module("", ""), sizes(1, "10%", "50%", "100%"))
	var broken []string
	for i := range 100 {
		name, spec := fmt.Sprintf("web-%03d", i), `{"text": "one"}`
		if i%14 == 3 && i < 95 {
			spec = `{"text": "one", "flavor": "sweet"}`
			broken = append(broken, name)
		}
		b.apply(name, spec, "")
	}
	b.ready(100)
	before := b.specs()
	b.update(b.module("", breaks))
	s := b.phase(v1alpha1.RolloutHalted)
	if len(broken) != 7 {
		t.Fatalf("%d instances are to break", len(broken))
	}
	changed := func() []string {
		var names []string
		for name, spec := range b.specs() {
			if spec != before[name] {
				names = append(names, name)
			}
		}
		return names
	}
	if diff := cmp.Diff(broken[:1], changed()); diff != "" {
		t.Errorf("changed instances (-want +got):\n%s", diff)
	}
	want := v1alpha1.RolloutStatus{
		Batch: 1, Batches: 4, Updated: 1, Total: 7, HaltedReason: v1alpha1.HaltInstanceFailed, HaltedInstance: b.Namespace + "/" + broken[0],
	}
	got := v1alpha1.RolloutStatus{
		Batch: s.Batch, Batches: s.Batches, Updated: s.Updated, Total: s.Total, HaltedReason: s.HaltedReason, HaltedInstance: s.HaltedInstance,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	b.event("RolloutStarted", "7 instances change; batches: 4")
	b.event("BatchStarted", "batch 1 of 4")
	b.event("RolloutHalted", "InstanceFailed: batch 1 of 4: 1 of 1 instances with the new version failed: "+b.Namespace+"/"+broken[0]+": node first: ")

	b.stop()
	b.newPool()
	b.edit(func(t *v1alpha1.Transform) { t.Spec.Rollout.AbortedDigest = s.ToDigest })
	b.start(b.Config)
	b.phase(v1alpha1.RolloutAborted)
	if diff := cmp.Diff(before, b.specs()); diff != "" {
		t.Errorf("specs after the abort (-before +after):\n%s", diff)
	}
	b.event("RolloutAborted", "")
	if n := len(b.history.to(s.ToDigest)); n != 1 {
		t.Errorf("%d instances have had the new version: %v", n, b.history.to(s.ToDigest))
	}
	// A version without the mistake reaches all.
	b.update(b.module("", `more: "x"`))
	b.phase(v1alpha1.RolloutCompleted)
	b.ready(100)
	b.event("RolloutCompleted", "")
}

// Batches wait for approvals. Until a batch reaches an instance, it is rendered with the
// version before, also after an edit and although the CRD has a new default. Pinned instances
// keep theirs, also after a restart without a disk.
func TestBatches(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	settings := sizes(1, 3)
	settings.OrderBy = []v1alpha1.RolloutOrder{{By: v1alpha1.OrderByLabel, Key: "tier", Values: []string{"dev", "prod"}}}
	settings.Approval = &v1alpha1.RolloutApproval{Mode: v1alpha1.ApprovalBatch}
	b.create(b.module("", ""), settings)
	for _, name := range []string{"a", "b", "c", "d"} {
		tier := "prod"
		if name == "d" {
			tier = "dev"
		}
		b.apply(name, `{"text": "one"}`, `, "labels": {"tier": "`+tier+`"}`)
	}
	b.apply("held", `{"text": "one"}`, "")
	b.ready(5)
	old := b.graph("a").Spec.PlatformRef.Digest
	b.apply("held", `{"text": "one"}`, `, "annotations": {"pequod.io/pinned-version": "`+old+`"}`)
	b.update(b.module(`size: *"small" | "large"`, `size: input.spec.size`))
	s := b.phase(v1alpha1.RolloutPending)
	if s.FromDigest != old || s.Total != 4 || len(b.history.to(s.ToDigest)) > 0 {
		t.Errorf("before the approval: %+v; changed %v", s, b.history.to(s.ToDigest))
	}
	approve := func(batch int) {
		b.edit(func(t *v1alpha1.Transform) {
			t.Spec.Rollout.Approval.Digest, t.Spec.Rollout.Approval.Batch = s.ToDigest, batch
		})
		if batch < 3 {
			b.until(func(t *v1alpha1.Transform) error {
				if r := t.Status.Rollout; r.Phase != v1alpha1.RolloutPending || r.Batch != batch {
					return fmt.Errorf("not waiting after batch %d", batch)
				}
				return nil
			})
		}
	}
	has := func(text string, names ...string) {
		t.Helper()
		if diff := cmp.Diff(names, sorted(b.history.to(s.ToDigest))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	approve(1)
	has("after batch 1", "d")
	// An edit, an edit of an instance that has the new version, and a new instance.
	b.apply("a", `{"text": "two", "size": "large"}`, `, "labels": {"tier": "prod"}`)
	b.apply("d", `{"text": "two", "size": "large"}`, `, "labels": {"tier": "dev"}`)
	b.apply("held", `{"text": "two"}`, `, "annotations": {"pequod.io/pinned-version": "`+old+`"}`)
	b.apply("late", `{"text": "two"}`, "")
	for _, name := range []string{"a", "d", "held", "late"} {
		b.condition(name, "True", "")
	}
	for name, want := range map[string]map[string]string{
		"a": {"text": "two"}, "b": {"text": "one"}, "d": {"text": "two", "size": "large"}, "held": {"text": "two"}, "late": {"text": "two"},
	} {
		cm, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, cm.Data); diff != "" {
			t.Errorf("ConfigMap %s (-want +got):\n%s", name, diff)
		}
	}
	has("after the edits", "d")
	approve(2)
	has("after batch 2", "a", "b", "d")
	b.stop()
	b.newPool()
	b.start(b.Config)
	approve(3)
	b.phase(v1alpha1.RolloutCompleted)
	has("at the end", "a", "b", "c", "d", "late")
	b.apply("held", `{"text": "three"}`, `, "annotations": {"pequod.io/pinned-version": "`+old+`"}`)
	b.condition("held", "True", "")
	if g := b.graph("held"); g.Spec.PlatformRef.Digest != old {
		t.Errorf("the pinned instance has %s", g.Spec.PlatformRef.Digest)
	}
	// A version that no manager has keeps the graph.
	b.apply("held", `{"text": "four"}`, `, "annotations": {"pequod.io/pinned-version": "v0"}`)
	b.condition("held", "False", "VersionMissing")
	if g := b.graph("held"); g.Spec.PlatformRef.Digest != old {
		t.Errorf("the pinned instance has %s", g.Spec.PlatformRef.Digest)
	}
	// Without the annotation it gets the current version.
	b.apply("held", `{"text": "four"}`, "")
	b.until(func(*v1alpha1.Transform) error {
		if !slices.Contains(b.history.to(s.ToDigest), "held") {
			return errors.New("the instance has the version that it was pinned to")
		}
		return nil
	})
}

// Without settings, a new version reaches all instances at once, except pinned ones.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	b.create(b.module("", ""), nil)
	for _, name := range []string{"a", "b", "held"} {
		b.apply(name, `{"text": "one"}`, "")
	}
	b.ready(3)
	old := b.graph("a").Spec.PlatformRef.Digest
	b.apply("held", `{"text": "one"}`, `, "annotations": {"pequod.io/pinned-version": "`+old+`"}`)
	b.update(b.module("", breaks+`, more: "x"`))
	s := b.phase(v1alpha1.RolloutCompleted)
	b.until(func(*v1alpha1.Transform) error {
		if got := sorted(b.history.to(s.ToDigest)); !slices.Equal(got, []string{"a", "b"}) {
			return fmt.Errorf("changed %v", got)
		}
		return nil
	})
	// Settings that come with the next version know the version before.
	b.edit(func(t *v1alpha1.Transform) {
		t.Spec.CueRef.Ref, t.Spec.Rollout = b.module("", `more: "y"`), sizes(1)
		t.Spec.Rollout.PauseBetween = &metav1.Duration{Duration: time.Hour}
	})
	p := b.phase(v1alpha1.RolloutPaused)
	if p.FromDigest != s.ToDigest || p.Updated != 1 || p.Total != 2 {
		t.Errorf("status %+v", p)
	}
	// A manager that starts with other content, such as an upgraded one with another embedded
	// module, has both versions before only in the cluster. They change differently.
	b.stop()
	b.newPool()
	b.update(b.module("", `more: "z"`))
	b.start(b.Config)
	next := b.phase(v1alpha1.RolloutCompleted)
	if next.FromDigest != s.ToDigest || next.ToDigest == p.ToDigest || len(next.Canaries) != 2 {
		t.Errorf("status %+v", next)
	}
	for name, want := range map[string]string{"a": next.ToDigest, "b": next.ToDigest, "held": old} {
		if got := b.graph(name).Spec.PlatformRef.Digest; got != want {
			t.Errorf("%s has %s; want %s", name, got, want)
		}
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
