package action

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// world is an Action with its controller and a server.
type world struct {
	rand   *rand.Rand
	server *server
	stored *v1alpha1.Action
	now    time.Time
	// process is the controller. It remembers nothing after a crash.
	process *reconciler
}

func newWorld(seed uint64) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), stored: &v1alpha1.Action{}, now: time.Unix(1e9, 0)}
	w.server = &server{rand: w.rand, finds: seed%2 == 0, runs: map[string]*begun{}}
	w.stored.UID, w.stored.Generation = "uid", 1
	w.stored.Spec.HTTP = &v1alpha1.HTTPExecutor{}
	w.stored.Spec.Timeout = "100000h"
	if seed%3 == 0 {
		w.stored.Spec.Timeout = "1m"
	}
	if seed%5 < 3 {
		w.stored.Spec.OnChangeWhileRunning = v1alpha1.ChangeCancel
	}
	// Otherwise a run may end here whose end is not known.
	w.server.one = seed%3 != 0 && (w.server.finds || seed%5 >= 3)
	if w.server.finds && seed%7 < 3 {
		w.server.late = 10 * time.Second
	}
	w.server.now = func() time.Time { return w.now }
	w.start()
	return w
}

// start starts the controller.
func (w *world) start() {
	w.process = &reconciler{Options: Options{
		Executors: func(v1alpha1.ActionExecutor) executor.Executor { return w.server },
		Now:       func() time.Time { return w.now }, Metrics: noMetrics{},
	}, events: &events.FakeRecorder{}, memory: newMemory()}
}

// step does one step as the controller does, and reports whether nothing is left to do. At random
// the write fails, its answer is lost, or the controller crashes before or after it.
func (w *world) step() (done bool) {
	a := w.stored.DeepCopy()
	s := &session{reconciler: w.process, a: a, goal: goal(a), now: w.now, next: a.Status.DeepCopy()}
	w.now = w.now.Add(time.Second)
	w.server.tick()
	step := runs.Next(s.goal, &a.Status, s.poll(), s.now)
	if step.Do == runs.Wait {
		if step.At.After(w.now) {
			w.now = step.At
		}
		return step.At.IsZero()
	}
	s.do(context.Background(), step)
	s.conditions()
	before := a.Status
	a.Status = *s.next
	chance := w.rand.IntN(10)
	if chance > 1 || w.server.calm { // otherwise the write fails
		w.stored = a
		if chance > 2 || w.server.calm { // otherwise its answer is lost
			s.stored(&before)
		}
	}
	if w.rand.IntN(5) == 0 && !w.server.calm {
		w.start()
	}
	return false
}

// TestOnce lets requests and writes fail in all ways, and the controller crash, while the inputs
// change. A generation of an Action runs again only after its run has failed or was cancelled.
func TestOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6000) {
		w := newWorld(seed)
		for i := range 80 {
			if w.rand.IntN(20) == 0 {
				w.stored.Generation++
				w.stored.Spec.HTTP.URL = fmt.Sprintf("https://example.com/%d", w.rand.IntN(3))
			}
			w.step()
			w.server.calm = i > 60
		}
		for i := 0; !w.step(); i++ {
			if i > 1000 {
				t.Fatalf("seed %d: no end: %+v", seed, w.stored.Status.Run)
			}
		}
		g, status := goal(w.stored), &w.stored.Status
		switch r := w.server.runs[status.Applied.Key]; {
		case w.server.wrong != "":
			t.Fatalf("seed %d: %s", seed, w.server.wrong)
		case status.Applied.Inputs == g.Inputs && (r == nil || r.state != v1alpha1.RunSucceeded):
			t.Fatalf("seed %d: a run that has not succeeded counts as such: %+v", seed, r)
		case status.Applied.Inputs != g.Inputs && runs.Stalled(g, status) == "":
			t.Fatalf("seed %d: neither applied nor stalled: %+v", seed, status.Run)
		}
	}
}
