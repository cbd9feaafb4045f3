package action

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// refusing is an executor whose requests all have one error. find is set if it has to ask to find a run.
type refusing struct {
	executor.Executor
	err  error
	find bool
}

func (r refusing) Find(context.Context, executor.Run) (*executor.Observation, error) {
	if r.find {
		return nil, r.err
	}
	return nil, executor.ErrUnknown
}

func (r refusing) Begin(context.Context, executor.Run) (*executor.Observation, error) {
	return nil, r.err
}

// TestUnsent has a run that an earlier process has recorded. It has failed if no request may be sent to its
// server, and otherwise it isn't known whether it has begun.
func TestUnsent(t *testing.T) {
	t.Parallel()
	for _, find := range []bool{false, true} {
		for _, step := range []runs.Step{{Do: runs.Dispatch}, {Do: runs.Settle, Why: runs.WhyTimeout}} {
			for _, unsent := range []bool{false, true} {
				if !find && step.Do == runs.Settle {
					continue // it sends nothing
				}
				a := &v1alpha1.Action{}
				a.Spec.HTTP = &v1alpha1.HTTPExecutor{}
				g := goal(a)
				runs.Intend(&a.Status, g, runs.Step{Do: runs.Record, Purpose: v1alpha1.RunApply}, "uid", a.Spec.ActionExecutor, nil, time.Now())
				e := refusing{find: find, err: &executor.Error{Class: executor.Terminal, Unsent: unsent, Message: "refused"}}
				r := &reconciler{Options: Options{
					Executors: func(v1alpha1.ActionExecutor) executor.Executor { return e }, Now: time.Now, Metrics: noMetrics{},
				}, events: &events.FakeRecorder{}, memory: newMemory()}
				s := &session{reconciler: r, a: a, goal: g, now: time.Now(), next: a.Status.DeepCopy()}
				s.do(t.Context(), step)
				if failed := s.next.Run.State == v1alpha1.RunFailed; failed != unsent {
					t.Errorf("find %t, step %v, unsent %t: %+v", find, step, unsent, s.next.Run)
				}
			}
		}
	}
}
