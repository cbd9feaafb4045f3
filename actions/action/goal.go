package action

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
)

// goal returns what an Action asks for.
func goal(a *v1alpha1.Action) runs.Goal {
	spec := &a.Spec
	g := runs.Goal{
		Generation: a.Generation,
		Inputs:     runs.Digest(spec.ActionExecutor),
		Outputs: runs.Digest(struct {
			Outputs   map[string]v1alpha1.ActionExpression
			Sensitive *v1alpha1.SensitiveOutputs
		}{spec.Outputs, spec.SensitiveOutputs}),
		Requested:    v1alpha1.RequestedAt(a.Annotations),
		ApprovedPlan: a.Annotations[v1alpha1.AnnotationApprovedPlan],
		Cancel:       spec.OnChangeWhileRunning == v1alpha1.ChangeCancel,
		Deleting:     !a.DeletionTimestamp.IsZero(),
		Paused:       a.Labels[v1alpha1.LabelPaused] == "true",
		Timeout:      duration(spec.Timeout, time.Hour),
		Retry:        runs.Retry{Attempts: 8, Initial: time.Minute, Factor: 2, Max: 1024 * time.Minute},
	}
	if len(g.Requested) > maxRequested {
		g.Requested = source.OneLine(g.Requested, maxRequested)
	}
	if r := spec.Retry; r != nil {
		if r.Attempts != nil {
			g.Retry.Attempts = int(*r.Attempts)
		}
		g.Retry.Initial, g.Retry.Max = duration(r.Initial, g.Retry.Initial), duration(r.Max, g.Retry.Max)
		g.Retry.Factor = cmp.Or(int(r.Factor), g.Retry.Factor)
	}
	if t := spec.Trigger; t != nil {
		g.Every = duration(t.Every, 0)
	}
	if c := spec.Check; c != nil {
		g.CheckEvery, g.Drift = duration(c.Every, 0), c.OnDrift != v1alpha1.DriftOnlyReport
	}
	if d := destroyOf(a); d != nil {
		g.Destroy = runs.DestroyRun
	}
	if d := spec.Destroy; d != nil && d.Skip {
		g.Destroy = runs.DestroySkip
	}
	return g
}

// maxRequested is the size of status.reconcileRequestedAt in bytes.
const maxRequested = 256

// specifiedDestroy returns the destroy of a spec, with what it takes over from the spec.
func specifiedDestroy(spec *v1alpha1.ActionSpec) *v1alpha1.ActionDestroy {
	if spec.Destroy == nil {
		return nil
	}
	return &v1alpha1.ActionDestroy{ActionExecutor: spec.Destroy.For(spec.ActionExecutor), Skip: spec.Destroy.Skip}
}

// destroyOf returns what undoes an Action: what was recorded with its last run, unless the
// destroy that was recorded has failed and the spec has changed since.
func destroyOf(a *v1alpha1.Action) *v1alpha1.ActionDestroy {
	recorded := specifiedDestroy(&a.Spec)
	if applied := a.Status.Applied; applied != nil {
		recorded = applied.Destroy
	}
	if r := a.Status.Run; r != nil && r.Purpose == v1alpha1.RunDestroy && r.Ended() && r.Generation != a.Generation {
		recorded = specifiedDestroy(&a.Spec)
	}
	if recorded == nil || recorded.Skip {
		return nil
	}
	return recorded
}

// duration returns a duration of the API, whose form the CRD checks.
func duration(d v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if v, err := time.ParseDuration(string(d)); err == nil {
		return v
	}
	return otherwise
}

// validate returns why an Action can't be executed, or nil. It finds what the CRD can't.
func (r *reconciler) validate(a *v1alpha1.Action) error {
	var found []error
	check := func(field, expr string) {
		if err := expression.Check(expression.Run(), expr); err != nil {
			found = append(found, fmt.Errorf("%s: %w", field, err))
		}
		if !strings.HasPrefix(field, "spec.sensitiveOutputs.") && slices.ContainsFunc(expression.Selects(expression.Run(), expr, "run"), isSensitive) {
			found = append(found, errors.New(field+": reads run.sensitive, which only the expressions of sensitiveOutputs can"))
		}
	}
	request := func(prefix string, e v1alpha1.ActionExecutor) {
		executor := r.Executors(e)
		if executor == nil {
			found = append(found, errors.New(prefix+"exactly one executor is required"))
			return
		}
		for _, err := range executor.Check(e) {
			found = append(found, fmt.Errorf("%s%w", prefix, err))
		}
	}
	request("spec.", a.Spec.ActionExecutor)
	for _, name := range slices.Sorted(maps.Keys(a.Spec.Outputs)) {
		check("spec.outputs."+name, string(a.Spec.Outputs[name]))
	}
	if s := a.Spec.SensitiveOutputs; s != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Values)) {
			check("spec.sensitiveOutputs.values."+name, string(s.Values[name]))
		}
	}
	if c := a.Spec.Check; c != nil {
		request("spec.check.", c.For(a.Spec.ActionExecutor))
		check("spec.check.driftWhen", string(c.DriftWhen))
	}
	if d := a.Spec.Destroy; d != nil && !d.Skip {
		request("spec.destroy.", d.For(a.Spec.ActionExecutor))
	}
	return errors.Join(found...)
}

func isSensitive(path reference.Path) bool { return path[0] == "sensitive" }

// planOf returns the plan of an executor whose runs make none: the request itself.
func planOf(request v1alpha1.ActionExecutor) *v1alpha1.ActionPlan {
	text, err := json.Marshal(request)
	if err != nil {
		text = nil // can't happen: the request was JSON
	}
	return &v1alpha1.ActionPlan{Digest: "sha256:" + runs.Digest(request), Summary: source.OneLine(string(text), 4096)}
}
