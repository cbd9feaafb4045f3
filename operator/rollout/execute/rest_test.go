package execute_test

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/rollout"
	"github.com/pequod-io/pequod/operator/rollout/board"
	"github.com/pequod-io/pequod/test/harness"
)

// looks counts how often all instances of a kind are looked at, which takes some time.
type looks struct {
	board.Kind
	takes time.Duration
	n     atomic.Int32
}

func (l *looks) Instances() ([]rollout.Instance, bool) {
	l.n.Add(1)
	time.Sleep(l.takes)
	return l.Kind.Instances()
}

// The longer it takes to look at all instances, the more changes are gathered before.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	b.create(b.module("", ""), sizes(1, 2))
	for _, name := range []string{"a", "b", "c"} {
		b.apply(name, `{"text": "one"}`, "")
	}
	b.ready(3)
	b.edit(func(t *v1alpha1.Transform) {
		t.Spec.Rollout.Approval = &v1alpha1.RolloutApproval{Mode: v1alpha1.ApprovalDigest}
	})
	b.update(b.module("", `more: "x"`))
	b.phase(v1alpha1.RolloutPending)
	kind := schema.GroupKind{Group: b.group, Kind: "App"}
	slow := &looks{Kind: b.board.Of(kind), takes: 200 * time.Millisecond}
	b.board.Join(kind, slow)
	// A look each second, and one that has begun. It would be 26 if they were gathered for a tenth of a second.
	const seconds = 8
	for end := time.Now().Add(seconds * time.Second); time.Now().Before(end); time.Sleep(time.Second / 100) {
		b.board.Changed(kind)
	}
	if n := slow.n.Load(); n == 0 || n > seconds+4 {
		t.Errorf("all instances were looked at %d times in %d seconds", n, seconds)
	}
}

// While nothing rolls out, a change of an instance leads to no look at all of them. Pinned, paused and
// refused instances don't change that.
func TestRest(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	b.create(b.module("", ""), sizes(1))
	for _, name := range []string{"a", "b", "held", "paused", "refused"} {
		b.apply(name, `{"text": "one"}`, "")
	}
	b.ready(5)
	old := b.graph("a").Spec.PlatformRef.Digest
	b.apply("held", `{"text": "one"}`, `, "annotations": {"pequod.io/pinned-version": "`+old+`"}`)
	b.apply("paused", `{"text": "one"}`, `, "labels": {"pequod.io/paused": "true"}`)
	b.apply("refused", `{"text": "refused"}`, "")
	b.condition("refused", "True", "")
	b.edit(func(t *v1alpha1.Transform) {
		t.Spec.Rollout.HaltWhen = &v1alpha1.RolloutHalt{RefusedInstances: new(sizes(2).Batches[0])}
	})
	refuses := `if input.spec.text == "refused" {text: "other"}, `
	b.update(b.module("", refuses+`more: "x"`))
	s := b.phase(v1alpha1.RolloutCompleted)
	digests := map[string]string{"a": s.ToDigest, "b": s.ToDigest, "held": old, "paused": old, "refused": old}
	for name, want := range digests {
		if got := b.graph(name).Spec.PlatformRef.Digest; got != want {
			t.Errorf("%s has %s; want %s", name, got, want)
		}
	}
	settle := 8 * time.Second // of the numbers of instances, which the status of the Transform gets each 5 s
	time.Sleep(settle)
	kind := schema.GroupKind{Group: b.group, Kind: "App"}
	counting := &looks{Kind: b.board.Of(kind)}
	b.board.Join(kind, counting)
	for i := range 5 {
		name := fmt.Sprint("new-", i)
		b.apply(name, `{"text": "one"}`, "")
		b.condition(name, "True", "")
		b.apply("a", fmt.Sprintf(`{"text": "change %d"}`, i), "")
		b.condition("a", "True", "")
	}
	if err := b.instances().Delete(t.Context(), "new-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle)
	if n := counting.n.Load(); n > 0 {
		t.Errorf("all instances were looked at %d times while nothing rolled out", n)
	}
	// An instance that takes part again gets the version, and another version reaches all.
	b.apply("paused", `{"text": "one"}`, "")
	b.until(func(*v1alpha1.Transform) error {
		if got := b.graph("paused").Spec.PlatformRef.Digest; got != s.ToDigest {
			return fmt.Errorf("the resumed instance has %s", got)
		}
		return nil
	})
	b.update(b.module("", refuses+`more: "y"`))
	b.phase(v1alpha1.RolloutCompleted)
	if counting.n.Load() == 0 {
		t.Error("a rollout without a look at the instances")
	}
}

// progress watches the Transform, and returns a function that returns its state and the number of writes
// that changed nothing but the progress of the rollout in it.
func (b *env) progress() func() (v1alpha1.RolloutStatus, int32) {
	b.t.Helper()
	w, err := b.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("transforms")).Namespace(b.Namespace).Watch(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(w.Stop)
	var last atomic.Pointer[v1alpha1.RolloutStatus]
	var writes atomic.Int32
	go func() {
		for event := range w.ResultChan() {
			u, ok := event.Object.(*unstructured.Unstructured)
			t := &v1alpha1.Transform{}
			if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t) != nil || t.Status.Rollout == nil {
				continue
			}
			next := *t.Status.Rollout
			if old := last.Swap(&next); old != nil && !reflect.DeepEqual(*old, next) {
				was := *old
				was.Updated, was.Total, was.Message = next.Updated, next.Total, next.Message
				if reflect.DeepEqual(was, next) {
					writes.Add(1)
				}
			}
		}
	}()
	return func() (v1alpha1.RolloutStatus, int32) { return *last.Load(), writes.Load() }
}

// The progress of a rollout is written each 5 s at most. In the end the status has the last numbers, also
// if the manager was stopped before it wrote them.
func TestProgressIsWrittenSlowly(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.start(b.Config)
	settings := sizes("100%")
	settings.Approval = &v1alpha1.RolloutApproval{Mode: v1alpha1.ApprovalDigest}
	b.create(b.module("", ""), settings)
	b.apply("a", `{"text": "one"}`, "")
	b.ready(1)
	b.update(b.module("", `more: "x"`))
	b.phase(v1alpha1.RolloutPending)
	state := b.progress()
	began := time.Now()
	total := 1
	add := func(n int) {
		for range n {
			total++
			name := fmt.Sprint("b-", total)
			b.apply(name, `{"text": "one"}`, "")
			b.condition(name, "True", "")
		}
	}
	most := func(text string) {
		t.Helper()
		if _, n := state(); n > int32(time.Since(began)/(5*time.Second))+1 {
			t.Errorf("%s: %d writes of the progress in %s", text, n, time.Since(began))
		}
	}
	// until waits for a number of instances in the status.
	until := func(want int) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if s, _ := state(); s.Total != want {
				return fmt.Errorf("the status has %d instances; want %d", s.Total, want)
			}
			return nil
		})
	}
	add(20)
	until(total)
	most("new instances")
	add(2)
	b.stop()
	began = time.Now().Add(-5 * time.Second) // the next manager may write at once
	b.newPool()
	b.start(b.Config)
	until(total)
	b.edit(func(t *v1alpha1.Transform) { t.Spec.Rollout.Approval.Digest = t.Status.Rollout.ToDigest })
	if s := b.phase(v1alpha1.RolloutCompleted); s.Updated != total || s.Total != total {
		t.Errorf("at the end: %d of %d; want %d", s.Updated, s.Total, total)
	}
}
