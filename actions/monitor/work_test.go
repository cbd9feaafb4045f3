package monitor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
