package monitor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// hangs is a prober of a target that doesn't answer.
type hangs struct{ asked chan struct{} }

func (h hangs) Read(ctx context.Context, _ *v1alpha1.Monitor, _ time.Duration) (verdict.Reading, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return verdict.Reading{Polls: []verdict.Poll{{Name: "a", Err: ctx.Err()}}}, nil
}

func (hangs) Forget(types.NamespacedName) {}

// counts records polls and errors.
type counts struct {
	Recorder
	polls, errors []string
}

func (c *counts) Polled(result string) { c.polls = append(c.polls, result) }

func (c *counts) Read(time.Duration) { c.polls = append(c.polls, "read") }

func (c *counts) Erred(category string) { c.errors = append(c.errors, category) }

// fails is a prober whose targets aren't known.
type fails struct{ hangs }

func (fails) Read(context.Context, *v1alpha1.Monitor, time.Duration) (verdict.Reading, error) {
	return verdict.Reading{}, errors.New("forbidden")
}

// two is a prober of two targets.
type two struct{ hangs }

func (two) Read(context.Context, *v1alpha1.Monitor, time.Duration) (verdict.Reading, error) {
	return verdict.Reading{Polls: []verdict.Poll{{Name: "a"}, {Name: "b", Err: errors.New("away")}}}, nil
}

// TestCounts counts readings, and those whose targets aren't known.
func TestCounts(t *testing.T) {
	t.Parallel()
	c := &counts{}
	r := &reconciler{Options: Options{Prober: two{}, Metrics: c, Now: time.Now}}
	r.read(t.Context(), &v1alpha1.Monitor{}, &verdict.Plan{})
	if got := fmt.Sprint(c.polls, c.errors); got != "[success failure read] [poll]" {
		t.Errorf("two targets: %s", got)
	}
	c = &counts{}
	r = &reconciler{Options: Options{Prober: fails{}, Metrics: c, Now: time.Now}}
	if finished := r.read(t.Context(), &v1alpha1.Monitor{}, &verdict.Plan{}); finished == nil || finished.err == nil || fmt.Sprint(c.errors) != "[targets]" {
		t.Errorf("%+v, errors: %v", finished, c.errors)
	}
}

// TestEnded ends a poll in flight, as a pause, a change of the spec and the end of the program do. It
// has no result: otherwise its target would be reported as unreachable.
func TestEnded(t *testing.T) {
	t.Parallel()
	m := &v1alpha1.Monitor{}
	m.Namespace, m.Name, m.Generation = "shop", "app", 1
	target, c := hangs{make(chan struct{}, 1)}, &counts{}
	r := &reconciler{
		Options: Options{Prober: target, Metrics: c, Now: time.Now}, work: t.Context(),
		memory: memory{of: map[types.NamespacedName]*known{}},
	}
	k, _ := r.get(types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, m.UID)
	k.plan, k.generation = &verdict.Plan{Interval: time.Minute, Timeout: time.Minute}, 1
	s := &session{reconciler: r, m: m, known: k, now: time.Now(), next: &v1alpha1.MonitorStatus{}}
	s.poll()
	<-target.asked
	s.pause()
	r.running.Wait()
	if finished, _ := r.take(k); finished != nil {
		t.Errorf("the poll has the result %+v", finished)
	}
	if k.cancel != nil || k.Polls != 0 || len(c.polls)+len(c.errors) != 0 {
		t.Errorf("the poll is in flight, or counted: %+v %+v", k.inbox, c)
	}
	// A result that has arrived before the pause is of no use after it.
	k.finished = &round{generation: 1}
	s.pause()
	if k.finished != nil {
		t.Error("a result from before the pause is kept")
	}
}

// TestWake polls an object that changes all the time once in a second, and one that has not changed for
// longer at once.
func TestWake(t *testing.T) {
	t.Parallel()
	m := &v1alpha1.Monitor{}
	m.Namespace, m.Name, m.Generation = "shop", "app", 1
	began := time.Now()
	now := began
	r := &reconciler{
		Options: Options{Prober: two{}, Metrics: &counts{}, Now: func() time.Time { return now }}, work: t.Context(),
		memory: memory{of: map[types.NamespacedName]*known{}},
	}
	name := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	k, _ := r.get(name, m.UID)
	k.plan, k.generation = &verdict.Plan{Interval: time.Hour, Timeout: time.Minute}, 1
	c := &Controller{r}
	// look reconciles the Monitor, and returns the number of polls so far and when the next one is due.
	look := func() (int64, time.Duration) {
		s := &session{reconciler: r, m: m, known: k, now: now, next: &v1alpha1.MonitorStatus{}}
		wait := s.poll()
		r.running.Wait()
		return k.Polls / 2, wait // of two targets
	}
	if polls, _ := look(); polls != 1 {
		t.Fatalf("%d polls at the start", polls)
	}
	const changes, pause = 100, 50 * time.Millisecond
	for range changes {
		now = now.Add(pause)
		c.Wake(name)
		if _, wait := look(); wait > minPause {
			t.Fatalf("the next poll is in %s", wait)
		}
	}
	if polls, want := k.Polls/2, int64(1+now.Sub(began)/minPause); polls != want {
		t.Errorf("%d changes in %s: %d polls, want %d", changes, now.Sub(began), polls, want)
	}
	if _, wait := look(); wait < 50*time.Minute {
		t.Errorf("without a change, the next poll is in %s", wait)
	}
	now = now.Add(time.Minute)
	before := k.Polls / 2
	c.Wake(name)
	if polls, _ := look(); polls != before+1 {
		t.Errorf("%d polls after a change, want %d", polls, before+1)
	}
}

// TestRemovedRule ends a firing whose rule was removed before its reactions began, and one whose rule
// has no reactions any more. Nothing is done, counted or told, and the firings don't stay.
func TestRemovedRule(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(10)
	m := &v1alpha1.Monitor{}
	m.Namespace, m.Name = "shop", "app"
	m.Spec.Rules = []v1alpha1.MonitorRule{{Name: "kept"}}
	m.Status.Rules = []v1alpha1.MonitorRuleStatus{{Name: "kept", LastResult: "as before"}}
	r := &reconciler{Options: Options{Metrics: &counts{}, Now: time.Now}, work: t.Context(), events: recorder}
	k := &known{vars: map[string]map[string]any{}}
	for _, name := range []string{"removed", "kept"} {
		firing := v1alpha1.MonitorFiring{Rule: name, Target: "a"}
		m.Status.Firings = []v1alpha1.MonitorFiring{firing}
		k.vars[key(firing)] = map[string]any{}
		s := &session{reconciler: r, m: m, known: k, now: time.Now(), next: m.Status.DeepCopy()}
		s.react()
		r.running.Wait()
		_, done := r.take(k)
		if done == nil {
			t.Fatalf("%s: the firing has no end", name)
		}
		s.ended(done)
		if len(s.next.Firings)+len(k.vars) != 0 || k.Reactions != 0 || len(recorder.Events) != 0 || s.next.Rules[0].LastResult != "as before" {
			t.Errorf("%s: firings %v, %d reactions, %d Events, result %q", name, s.next.Firings, k.Reactions, len(recorder.Events), s.next.Rules[0].LastResult)
		}
	}
}
