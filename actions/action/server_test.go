package action

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// begun is a run at a server.
type begun struct {
	at         time.Time
	generation int64
	left       int // ticks until its end
	cancelled  bool
	state      v1alpha1.RunState
}

// server is an executor with its server. It honours keys unless it shows runs late, and its requests
// fail at random.
type server struct {
	rand *rand.Rand
	now  func() time.Time
	// finds is set if Find can tell if a run has begun.
	finds bool
	// late is the time after which the server shows a run. It doesn't honour keys, so Find has
	// to wait for it.
	late time.Duration
	// one is set if no run may begin beside another one.
	one bool
	// calm ends the failures.
	calm bool
	runs map[string]*begun
	// wrong is what must not happen, and has.
	wrong string
}

// fails returns the error of a request, and if it has an effect.
func (s *server) fails() (effect bool, err error) {
	if s.calm || s.rand.IntN(2) == 0 {
		return true, nil
	}
	answerLost := s.rand.IntN(2) == 0
	switch class := executor.Class(s.rand.IntN(6)); class {
	case executor.Later:
		return false, &executor.Error{Class: class, After: s.now().Add(3 * time.Second), Message: "too many"}
	case executor.Retry, executor.Terminal:
		return false, &executor.Error{Class: class, Message: "no effect"}
	case executor.Unknown, executor.Lost:
		return answerLost, &executor.Error{Class: class, Message: "no answer"}
	}
	return answerLost, errors.New("no answer")
}

// tick lets the time pass at the server.
func (s *server) tick() {
	for _, r := range s.runs {
		if r.left--; r.left > 0 || r.state != v1alpha1.RunRunning {
			continue
		}
		switch r.state = v1alpha1.RunSucceeded; {
		case r.cancelled:
			r.state = v1alpha1.RunCancelled
		case s.rand.IntN(4) == 0:
			r.state = v1alpha1.RunFailed
		}
	}
}

func (s *server) observation(key string) *executor.Observation {
	return &executor.Observation{State: s.runs[key].state, ID: key}
}

func (s *server) Check(v1alpha1.ActionExecutor) []error { return nil }
func (s *server) Plans() bool                           { return false }
func (s *server) Approve(context.Context, executor.Run, string) error {
	return executor.ErrNotSupported
}

func (s *server) Find(_ context.Context, run executor.Run) (*executor.Observation, error) {
	if run.Fresh && s.runs[run.Key] != nil {
		s.wrong = "a run that has begun is fresh"
	}
	switch {
	case run.Fresh && s.rand.IntN(2) == 0: // the server shows runs late
		return nil, nil
	case !s.finds:
		return nil, executor.ErrUnknown
	}
	if _, err := s.fails(); err != nil {
		return nil, err
	}
	switch r := s.runs[run.Key]; {
	case r != nil && !s.now().Before(r.at.Add(s.late)):
		return s.observation(run.Key), nil
	case s.now().Before(run.Since.Add(s.late)):
		return nil, &executor.Error{Class: executor.Later, After: s.now().Add(2 * time.Second), Message: "not shown yet"}
	}
	return nil, nil
}

func (s *server) Begin(_ context.Context, run executor.Run) (*executor.Observation, error) {
	effect, err := s.fails()
	if effect && s.late > 0 && s.runs[run.Key] != nil {
		s.wrong = "a run begins twice with the same key"
	}
	if effect && s.runs[run.Key] == nil {
		for _, r := range s.runs {
			if r.generation == run.Generation && r.state != v1alpha1.RunFailed && r.state != v1alpha1.RunCancelled {
				s.wrong = fmt.Sprintf("generation %d runs again, and its run is %s", r.generation, r.state)
			}
			if s.one && r.state == v1alpha1.RunRunning {
				s.wrong = fmt.Sprintf("generations %d and %d run at once", r.generation, run.Generation)
			}
		}
		s.runs[run.Key] = &begun{at: s.now(), generation: run.Generation, left: 1 + s.rand.IntN(6), state: v1alpha1.RunRunning}
	}
	if err != nil {
		return nil, err
	}
	return s.observation(run.Key), nil
}

func (s *server) Observe(_ context.Context, run executor.Run) (*executor.Observation, error) {
	if _, err := s.fails(); err != nil {
		return nil, err
	}
	return s.observation(run.Key), nil
}

func (s *server) Cancel(_ context.Context, run executor.Run) error {
	effect, err := s.fails()
	s.runs[run.Key].cancelled = s.runs[run.Key].cancelled || effect
	return err
}
