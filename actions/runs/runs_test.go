package runs

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestAfter checks the backoff.
func TestAfter(t *testing.T) {
	t.Parallel()
	r := Retry{Attempts: 8, Initial: time.Minute, Factor: 2, Max: 1024 * time.Minute}
	for failures, minutes := range map[int]int{1: 1, 2: 2, 3: 4, 4: 8, 11: 1024, 12: 1024, 1000: 1024} {
		if got := r.After(failures); got != time.Duration(minutes)*time.Minute {
			t.Errorf("after %d failures: %s", failures, got)
		}
	}
}

// server is the model of a server that honours keys.
type server struct {
	open  map[string]int // steps that are left, by key
	runs  int
	begun []string // inputs in their order
}

// model is an Action with its server, whose controller is killed at random.
type model struct {
	t      *testing.T
	rand   *rand.Rand
	stored v1alpha1.ActionStatus
	goal   Goal
	server server
	now    time.Time
}

// step does one step as the controller does. It is killed before it stores the result at random.
func (m *model) step() (done bool) {
	s := m.stored.DeepCopy()
	step := Next(m.goal, s, time.Time{}, m.now)
	m.now = m.now.Add(time.Second)
	switch step.Do {
	case Wait:
		if step.At.IsZero() {
			return true
		}
		m.now = step.At
		return false
	case Release:
		return true
	case Record:
		if s.Run != nil && !s.Run.Ended() {
			m.t.Fatal("a second run is recorded while one is open")
		}
		Intend(s, m.goal, step, "uid", v1alpha1.ActionExecutor{}, nil, m.now)
	case Dispatch:
		for key, left := range m.server.open {
			if left > 0 && key != s.Run.Key {
				m.t.Fatal("two runs are open at once")
			}
		}
		if _, known := m.server.open[s.Run.Key]; !known {
			m.server.runs++
			m.server.begun = append(m.server.begun, s.Run.Inputs)
			m.server.open[s.Run.Key] = 1 + m.rand.IntN(4)
		}
		Progressed(s, v1alpha1.RunRunning, "", "", "", m.now)
	case Settle: // the server can tell
		if _, known := m.server.open[s.Run.Key]; known {
			Progressed(s, v1alpha1.RunRunning, "", "", "", m.now)
			break
		}
		s.Run.CancelReason = step.Why
		Ended(s, m.goal, v1alpha1.RunCancelled, step.Why, false, time.Time{}, m.now)
	case Observe:
		m.server.open[s.Run.Key]--
		if m.server.open[s.Run.Key] > 0 {
			break
		}
		m.server.open[s.Run.Key] = 0
		state := v1alpha1.RunSucceeded
		if s.Run.CancelReason != "" {
			state = v1alpha1.RunCancelled
		} else if m.rand.IntN(5) == 0 {
			state = v1alpha1.RunFailed
		}
		Ended(s, m.goal, state, "", false, time.Time{}, m.now)
	case Cancel:
		s.Run.CancelReason = step.Why
		s.Run.CancelRequestedAt = new(s.Run.IntentAt)
		s.Run.CancelRequestedAt.Time = m.now
	case GiveUp:
		Ended(s, m.goal, v1alpha1.RunFailed, step.Why, true, time.Time{}, m.now)
	}
	if m.rand.IntN(3) > 0 { // otherwise it is killed
		m.stored = *s
	}
	return false
}

// TestModel changes the inputs of an Action at random while its controller is killed between
// requests and writes. At most one run is open at any time, each key is one run, and the last
// run has the last inputs.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1e9, 0), server: server{open: map[string]int{}}}
		m.goal = Goal{Inputs: "A", Cancel: seed%2 == 0, Timeout: time.Hour, Retry: Retry{Attempts: 100, Initial: time.Minute, Factor: 2, Max: time.Hour}}
		for i := range 60 {
			if m.rand.IntN(10) == 0 {
				m.goal.Inputs, m.goal.Generation = string(rune('A'+m.rand.IntN(3))), int64(i)
			}
			m.step()
		}
		for i := 0; !m.step(); i++ {
			if i > 5000 {
				t.Fatalf("seed %d: no end: %+v", seed, m.stored.Run)
			}
		}
		if m.stored.Applied.Inputs != m.goal.Inputs || m.server.begun[len(m.server.begun)-1] != m.goal.Inputs {
			t.Fatalf("seed %d: ends at %s, and %s was run last; want %s", seed, m.stored.Applied.Inputs, fmt.Sprint(m.server.begun), m.goal.Inputs)
		}
		before := m.server.runs
		for range 20 {
			m.step()
		}
		if m.server.runs != before {
			t.Fatalf("seed %d: the same inputs run again", seed)
		}
	}
}

// TestApprovalWaits passes an approval on again only after the pause that an error asks for, and not
// after the run was cancelled.
func TestApprovalWaits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	g := Goal{Inputs: "A", ApprovedPlan: "plan", Timeout: time.Hour}
	s := &v1alpha1.ActionStatus{Plan: &v1alpha1.ActionPlan{Digest: "plan"}}
	s.Run = &v1alpha1.ActionRun{Inputs: "A", State: v1alpha1.RunWaitingForApproval}
	s.Run.IntentAt.Time = now
	if step := Next(g, s, time.Time{}, now); step.Do != Approve {
		t.Errorf("at first: %+v", step)
	}
	Erred(s, "no answer", time.Time{}, now)
	if step := Next(g, s, s.NextAttemptAt.Time, now); step.Do != Wait || !step.At.Equal(s.NextAttemptAt.Time) {
		t.Errorf("after an error: %+v", step)
	}
	if step := Next(g, s, s.NextAttemptAt.Time, s.NextAttemptAt.Time); step.Do != Approve {
		t.Errorf("after the pause: %+v", step)
	}
	s.NextAttemptAt, s.Run.CancelRequestedAt = nil, &s.Run.IntentAt
	if step := Next(g, s, time.Time{}, now); step.Do != Observe {
		t.Errorf("after it was cancelled: %+v", step)
	}
}

// TestClockAhead tries runs again that were recorded while the clock was a day ahead. Their times are not awaited.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	wrong := now.Add(24 * time.Hour)
	g := Goal{Inputs: "A", Timeout: time.Hour, Retry: Retry{Attempts: 5, Initial: time.Minute, Max: time.Hour}}
	s := &v1alpha1.ActionStatus{Applied: &v1alpha1.AppliedRun{}, Run: &v1alpha1.ActionRun{Purpose: v1alpha1.RunApply, Inputs: "A", State: v1alpha1.RunIntended}}
	s.Run.IntentAt.Time = wrong
	Erred(s, "no answer", time.Time{}, wrong)
	if step := Next(g, s, time.Time{}, wrong); step.Do != Wait {
		t.Errorf("by the same clock: %+v", step)
	}
	if step := Next(g, s, time.Time{}, now); step.Do != Dispatch {
		t.Errorf("a run that may not have begun: %+v", step)
	}
	s.Run.IntentAt.Time = now.Add(-time.Hour)
	Ended(s, g, v1alpha1.RunFailed, "no", false, time.Time{}, wrong)
	if step := Next(g, s, time.Time{}, now); step.Do != Record || step.Reason != v1alpha1.ReasonRetry {
		t.Errorf("a run that failed: %+v", step)
	}
}
