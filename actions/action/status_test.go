package action

import (
	"testing"

	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestPhases goes through the phases of a run without and with an approval, and of a run that
// fails, looks for drift, or undoes the Action.
func TestPhases(t *testing.T) {
	t.Parallel()
	type state struct {
		run      v1alpha1.ActionRun
		planned  bool
		plans    bool
		deleting bool
	}
	apply := func(s v1alpha1.RunState) v1alpha1.ActionRun {
		return v1alpha1.ActionRun{Purpose: v1alpha1.RunApply, State: s}
	}
	approved := func(s v1alpha1.RunState) v1alpha1.ActionRun {
		return v1alpha1.ActionRun{Purpose: v1alpha1.RunApply, State: s, Approved: "sha256:1"}
	}
	for name, test := range map[string]struct {
		state
		want v1alpha1.ActionPhase
	}{
		"recorded":                 {state{run: apply(v1alpha1.RunIntended)}, v1alpha1.ActionInitializing},
		"runs":                     {state{run: apply(v1alpha1.RunRunning)}, v1alpha1.ActionApplying},
		"has succeeded":            {state{run: apply(v1alpha1.RunSucceeded)}, v1alpha1.ActionCompleted},
		"has failed":               {state{run: apply(v1alpha1.RunFailed)}, v1alpha1.ActionFailed},
		"was cancelled":            {state{run: apply(v1alpha1.RunCancelled)}, v1alpha1.ActionFailed},
		"recorded, to make a plan": {state{run: apply(v1alpha1.RunIntended), plans: true}, v1alpha1.ActionInitializing},
		"makes a plan":             {state{run: apply(v1alpha1.RunRunning), plans: true}, v1alpha1.ActionPlanning},
		"has a plan":               {state{run: apply(v1alpha1.RunWaitingForApproval), planned: true, plans: true}, v1alpha1.ActionWaitingForApproval},
		"plan of the request":      {state{run: apply(v1alpha1.RunIntended), planned: true, plans: true}, v1alpha1.ActionWaitingForApproval},
		"approved":                 {state{run: approved(v1alpha1.RunRunning), plans: true}, v1alpha1.ActionApplying},
		"approved, has succeeded":  {state{run: approved(v1alpha1.RunSucceeded), plans: true}, v1alpha1.ActionCompleted},
		"failed to make a plan":    {state{run: apply(v1alpha1.RunFailed), plans: true}, v1alpha1.ActionFailed},
		"looks for drift":          {state{run: v1alpha1.ActionRun{Purpose: v1alpha1.RunCheck, State: v1alpha1.RunRunning}}, v1alpha1.ActionCompleted},
		"is undone":                {state{run: v1alpha1.ActionRun{Purpose: v1alpha1.RunDestroy, State: v1alpha1.RunRunning}, deleting: true}, v1alpha1.ActionDestroying},
	} {
		s := &v1alpha1.ActionStatus{Run: &test.run}
		if test.planned {
			s.Plan = &v1alpha1.ActionPlan{Digest: "sha256:1"}
		}
		if got := phase(runs.Goal{Deleting: test.deleting}, s, test.plans); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
