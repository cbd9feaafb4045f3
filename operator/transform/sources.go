package transform

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/operator/definitions"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/operator/worker"
)

// fetch opens the module, if the Transform has changed, if it was requested, or if the
// reference may refer to something else by now.
func (s *session) fetch(ctx context.Context) (*blocked, error) {
	p, request := s.p, requested(s.t)
	same := p.generation == s.t.Generation && p.request == request && (p.fetched != nil || p.block != nil)
	if same && (p.due.IsZero() || s.now.Before(p.due)) {
		return s.blockOf(v1alpha1.ConditionCueFetched), nil
	}
	if p.generation != s.t.Generation || p.request != request {
		// A user has changed or requested something: the backoff begins again.
		p.failures = 0
	}
	leave := s.enter(s.t)
	if leave == nil {
		b := &blocked{condition: v1alpha1.ConditionCueFetched, reason: reasonProgressing, message: "other modules are being fetched", after: fetchPause}
		if same {
			p.due, b = s.now.Add(fetchPause), s.blockOf(v1alpha1.ConditionCueFetched)
		}
		return b, nil
	}
	defer leave()
	last := p.block
	fetched, err := s.Fetcher.Fetch(ctx, s.t)
	if errors.Is(err, context.Canceled) {
		return nil, err // the manager ends
	}
	p.generation, p.request, p.block, p.due = s.t.Generation, request, nil, time.Time{}
	if err != nil {
		b := s.block(s.fetchFailed(s.t, err, p.failures))
		log.FromContext(ctx).Info("the fetch of the module of a Transform has failed",
			"transform", s.key.String(), "reason", b.reason, "error", b.message, "retryAfter", b.after.String())
		return b, nil
	}
	if fetched.Moving {
		p.due = s.now.Add(interval(s.t))
	}
	if p.fetched == nil || p.fetched.Digest != fetched.Digest {
		// The content is new. Equal content has equal bytes, so it is not evaluated again.
		p.loaded = nil
	} else if p.loaded != nil && (last == nil || last.condition == v1alpha1.ConditionCueFetched) {
		p.failures = 0
	}
	p.fetched = fetched
	return nil, nil
}

// A Transform waits fetchWait for its turn to fetch, and tries again after fetchPause.
const (
	fetchWait  = 200 * time.Millisecond
	fetchPause = 5 * time.Second
)

// enter returns a function that ends the turn of a Transform to fetch, or nil if it gets none soon. All goroutines
// but one may fetch from servers at once: while these don't answer, Transforms without any go on.
func (r *reconciler) enter(t *v1alpha1.Transform) (leave func()) {
	if !slices.ContainsFunc(slices.Concat(t.Spec.Policies, []v1alpha1.CueRef{t.Spec.CueRef}), func(ref v1alpha1.CueRef) bool {
		return ref.Type == v1alpha1.CueRefOCI || ref.Type == v1alpha1.CueRefGit
	}) {
		return func() {}
	}
	select {
	case r.fetches <- struct{}{}:
		return func() { <-r.fetches }
	case <-time.After(fetchWait):
		return nil
	}
}

// load evaluates the module.
func (s *session) load(ctx context.Context) (*blocked, error) {
	p := s.p
	if b := s.blockOf(v1alpha1.ConditionSchemaExtracted); b != nil || p.loaded != nil {
		return b, nil
	}
	loaded, err := s.Loader.Load(ctx, worker.Key{Transform: s.key, Digest: p.fetched.Digest}, p.fetched.Sources)
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return s.block(s.loadFailed(s.t, err, p.failures)), nil
	}
	if loaded, err = s.named(ctx, loaded); err != nil {
		return nil, err
	}
	p.loaded, p.samples, p.rules, p.unknown, p.failures = loaded, nil, nil, nil, 0
	return nil, nil
}

// named returns the platform with the plural of the CRD that exists, if the module gives none: earlier versions derived
// other plurals from some kinds, and a CRD can't be renamed.
func (s *session) named(ctx context.Context, loaded *worker.Loaded) (*worker.Loaded, error) {
	old := s.t.Status.GeneratedCRD
	if old == "" || old == loaded.CRD.Name || loaded.Names.Plural != v1alpha1.DefaultPlural(loaded.Names.Kind) {
		return loaded, nil
	}
	live, err := s.definition(ctx, old)
	if err != nil || live == nil || !definitions.Applied(live, s.t) || live.Spec.Group != loaded.Names.Group || live.Spec.Names.Kind != loaded.Names.Kind {
		return loaded, err
	}
	kept := *loaded
	kept.CRD = loaded.CRD.DeepCopy()
	kept.CRD.Name, kept.CRD.Spec.Names.Plural, kept.Names.Plural = old, live.Spec.Names.Plural, live.Spec.Names.Plural
	return &kept, nil
}

// sample finds the samples of the module. Only those of a module that is not known are evaluated.
func (s *session) sample(ctx context.Context) (*blocked, error) {
	p := s.p
	if b := s.blockOf(v1alpha1.ConditionRBACConfigured); b != nil || p.samples != nil {
		return b, nil
	}
	samples, err := s.roles.Samples(ctx, s.key, p.loaded.Module.Digest)
	if err != nil {
		return nil, err
	}
	if samples == nil {
		samples, err = s.Loader.Sample(ctx, worker.Key{Transform: s.key, Digest: p.fetched.Digest}, p.fetched.Sources)
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if err != nil {
			b := s.loadFailed(s.t, err, p.failures)
			b.condition = v1alpha1.ConditionRBACConfigured
			b.message += "; the rights of the graphs could not be computed: to list them instead, set spec.managedResources"
			return s.block(b), nil
		}
		samples = roles.Reduce(samples)
	}
	p.samples, p.failures = append([]*v1alpha1.ResourceGraph{}, samples...), 0 // not nil
	return nil, nil
}

// blockOf returns the block of the last fetch or load, if it is that of a step.
func (s *session) blockOf(condition string) *blocked {
	if s.p.block != nil && s.p.block.condition == condition {
		return s.p.block
	}
	return nil
}

// block records a failed fetch, load or evaluation, which is repeated at due.
func (s *session) block(b *blocked) *blocked {
	s.p.block, s.p.due = b, s.now.Add(b.after)
	s.p.failures++
	return b
}

// fetchFailed returns the block for an error of fetching. failures is the number of failures
// before this one.
func (r *reconciler) fetchFailed(t *v1alpha1.Transform, err error, failures int) *blocked {
	b := &blocked{condition: v1alpha1.ConditionCueFetched, reason: fetch.Reason(err), message: err.Error(), event: "CueFetchFailed"}
	b.after = max(min(r.Backoff<<min(failures, 20), interval(t)), fetch.RetryAfter(err))
	if b.stalled = !fetch.Transient(err); b.stalled {
		b.after = interval(t) // what is missing or wrong may be corrected at its source
	}
	return b
}

// loadFailed returns the block for an error of a worker process.
func (r *reconciler) loadFailed(t *v1alpha1.Transform, err error, failures int) *blocked {
	b := &blocked{condition: v1alpha1.ConditionSchemaExtracted, reason: reasonInvalidModule, event: "CueRenderFailed", stalled: true, after: interval(t)}
	var problems problem.List
	if errors.As(err, &problems) {
		// Only evaluation shows which files belong to the module.
		if fetch.Reason(err) == fetch.DigestMismatch {
			b.condition, b.reason, b.event = v1alpha1.ConditionCueFetched, fetch.DigestMismatch, "CueFetchFailed"
		}
		b.message = firstLines(lines(problems))
		return b
	}
	// A busy machine may be the cause, so it is tried again. A module that needs too much stays
	// one that needs a change.
	b.reason, b.message, b.stalled = reasonEvaluation, err.Error(), failures >= patience
	b.after = min(r.Backoff<<min(failures, 20), interval(t))
	return b
}

// patience is the number of evaluations that are repeated without a user's doing.
const patience = 3

// requested returns the value of the annotation that requests a reconciliation.
func requested(t *v1alpha1.Transform) string {
	return source.OneLine(v1alpha1.RequestedAt(t.Annotations), 256)
}

// interval returns the time between two fetches.
func interval(t *v1alpha1.Transform) time.Duration {
	if t.Spec.Interval != nil {
		return max(t.Spec.Interval.Duration, v1alpha1.MinInterval)
	}
	return v1alpha1.DefaultInterval
}
