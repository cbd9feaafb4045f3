package runs

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestPeriodic checks when a run that has succeeded is repeated, and when it is followed by a check
// for drift.
func TestPeriodic(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	begin := time.Unix(1e9, 0)
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(begin.Add(after)) }
	scheduled := Step{Do: Record, Purpose: v1alpha1.RunApply, Reason: v1alpha1.ReasonSchedule}
	check := Step{Do: Record, Purpose: v1alpha1.RunCheck, Reason: v1alpha1.ReasonCheck}
	drifted := Step{Do: Record, Purpose: v1alpha1.RunApply, Reason: v1alpha1.ReasonDrift}
	for name, test := range map[string]struct {
		goal    Goal
		checked *v1alpha1.CheckResult
		after   time.Duration // since the run has succeeded
		want    Step
	}{
		"never":             {Goal{}, nil, 1000 * time.Hour, Step{}},
		"not yet":           {Goal{Every: time.Hour}, nil, time.Hour - 1, Step{At: begin.Add(time.Hour)}},
		"every hour":        {Goal{Every: time.Hour}, nil, time.Hour, scheduled},
		"no check yet":      {Goal{Every: time.Hour, CheckEvery: 5 * time.Minute}, nil, time.Minute, Step{At: begin.Add(5 * time.Minute)}},
		"a check":           {Goal{Every: time.Hour, CheckEvery: 5 * time.Minute}, nil, 5 * time.Minute, check},
		"the next check":    {Goal{CheckEvery: 5 * time.Minute}, &v1alpha1.CheckResult{At: at(6 * time.Minute), Result: v1alpha1.CheckInSync}, 10 * time.Minute, Step{At: begin.Add(11 * time.Minute)}},
		"a run, no check":   {Goal{Every: time.Hour, CheckEvery: 5 * time.Minute}, nil, time.Hour, scheduled},
		"drift":             {Goal{CheckEvery: 5 * time.Minute, Drift: true}, &v1alpha1.CheckResult{At: at(6 * time.Minute), Result: v1alpha1.CheckDrifted}, 6 * time.Minute, drifted},
		"reported drift":    {Goal{CheckEvery: 5 * time.Minute}, &v1alpha1.CheckResult{At: at(6 * time.Minute), Result: v1alpha1.CheckDrifted}, 6 * time.Minute, Step{At: begin.Add(11 * time.Minute)}},
		"drift of long ago": {Goal{CheckEvery: 5 * time.Minute, Drift: true}, &v1alpha1.CheckResult{At: at(-time.Minute), Result: v1alpha1.CheckDrifted}, time.Minute, Step{At: begin.Add(5 * time.Minute)}},

		// The clock was a day ahead when these were recorded.
		"a check ahead":        {Goal{CheckEvery: 5 * time.Minute}, &v1alpha1.CheckResult{At: at(day), Result: v1alpha1.CheckInSync}, 5 * time.Minute, check},
		"drift ahead":          {Goal{CheckEvery: 5 * time.Minute, Drift: true}, &v1alpha1.CheckResult{At: at(day), Result: v1alpha1.CheckDrifted}, time.Minute, Step{At: begin.Add(5 * time.Minute)}},
		"a run ahead":          {Goal{Every: time.Hour}, nil, -day, scheduled},
		"a check after it":     {Goal{CheckEvery: 5 * time.Minute}, &v1alpha1.CheckResult{At: at(-day), Result: v1alpha1.CheckInSync}, time.Minute - day, Step{At: begin.Add(5*time.Minute - day)}},
		"the clocks of others": {Goal{CheckEvery: 5 * time.Minute}, &v1alpha1.CheckResult{At: at(time.Minute), Result: v1alpha1.CheckInSync}, 0, Step{At: begin.Add(6 * time.Minute)}},
	} {
		test.goal.Inputs = "A"
		ended := at(0)
		s := &v1alpha1.ActionStatus{
			Run:       &v1alpha1.ActionRun{Purpose: v1alpha1.RunApply, Inputs: "A", State: v1alpha1.RunSucceeded, FinishedAt: &ended},
			Applied:   &v1alpha1.AppliedRun{Inputs: "A", At: &ended},
			LastCheck: test.checked,
		}
		if got := Next(test.goal, s, time.Time{}, begin.Add(test.after)); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
