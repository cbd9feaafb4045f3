package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/internal/source"
)

// heartbeat is the time after which a status is written though nothing but times has changed.
const heartbeat = 5 * time.Minute

// maxRequested is the size of status.reconcileRequestedAt in bytes.
const maxRequested = 256

// maxResult is the size of the result of reactions in the status in bytes.
const maxResult = 1000

// Reconcile takes the results of polls and reactions, and begins those that are due.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ctx = identity.Once(ctx)
	m := &v1alpha1.Monitor{}
	err := r.client.Get(ctx, req.NamespacedName, m)
	if apierrors.IsNotFound(err) || err == nil && !m.DeletionTimestamp.IsZero() {
		r.Metrics.Active(r.forget(req.NamespacedName))
		r.Prober.Forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	k, count := r.get(req.NamespacedName, m.UID)
	r.Metrics.Active(count)
	s := &session{reconciler: r, m: m, known: k, now: r.Now()}
	if s.next = k.status; s.next == nil {
		s.next = m.Status.DeepCopy()
	}
	return s.run(ctx)
}

// session is one reconciliation of a Monitor.
type session struct {
	*reconciler
	m     *v1alpha1.Monitor
	known *known
	now   time.Time
	// next is the status to write. It is kept in known, also if it isn't written.
	next *v1alpha1.MonitorStatus
}

// run reconciles the Monitor.
func (s *session) run(ctx context.Context) (reconcile.Result, error) {
	s.findInstance(ctx)
	if s.m.Labels[v1alpha1.LabelPaused] == "true" {
		s.pause()
		return s.store(ctx, reconcile.Result{})
	}
	finished, done := s.take(s.known)
	if done != nil {
		s.ended(done)
	}
	if s.known.generation != s.m.Generation || s.known.plan == nil {
		if err := s.compile(); err != nil {
			s.next.ObservedGeneration = s.m.Generation
			verdict.Stalled(s.next, verdict.ReasonInvalid, err.Error(), s.now)
			s.report(nil)
			return s.store(ctx, reconcile.Result{})
		}
	}
	if finished != nil && finished.generation == s.m.Generation {
		s.observe(finished)
	}
	s.request()
	return s.store(ctx, reconcile.Result{})
}

// pause stops the Monitor.
func (s *session) pause() {
	s.reconciler.mu.Lock()
	if s.known.cancel != nil {
		s.known.cancel()
	}
	s.known.due, s.known.finished = time.Time{}, nil
	s.reconciler.mu.Unlock()
	s.known.generation = 0 // it begins again
	s.next.ObservedGeneration = s.m.Generation
	verdict.Progressing(s.next, verdict.ReasonPaused, "the label "+v1alpha1.LabelPaused+" stops the Monitor", s.now)
}

// compile checks the spec. A new one is polled at once, and a poll of the old one is dropped.
func (s *session) compile() error {
	k := s.known
	fresh := s.m.Status.ObservedGeneration != s.m.Generation || k.generation != 0
	k.generation, k.plan = s.m.Generation, nil
	plan, err := verdict.Compile(s.m)
	if err == nil {
		err = s.checkReactions()
	}
	s.reconciler.mu.Lock()
	defer s.reconciler.mu.Unlock()
	if k.cancel != nil {
		k.cancel()
	}
	if err != nil {
		return err
	}
	k.plan, k.due = plan, s.now
	if !fresh && !k.woken {
		k.due = s.now.Add(spread(plan.Interval))
	}
	return nil
}

// checkReactions returns why reactions can't be done, or nil.
func (s *session) checkReactions() error {
	var found []error
	for i, rule := range s.m.Spec.Rules {
		for j, do := range rule.Do {
			if err := s.Reactor.Check(s.m, do); err != nil {
				found = append(found, fmt.Errorf("spec.rules[%d] (%s): do[%d].%s: %w", i, rule.Name, j, do.Name(), err))
			}
		}
	}
	return errors.Join(found...)
}

// observe takes a reading.
func (s *session) observe(finished *round) {
	s.next.ObservedGeneration = s.m.Generation
	if finished.err != nil {
		s.report(s.known.plan.Unread(s.next, s.known.states, finished.err, finished.at))
		return
	}
	events := s.known.plan.Next(s.next, s.known.states, finished.reading, finished.at)
	s.known.read = true
	for _, e := range events {
		if e.Kind != verdict.Fired {
			continue
		}
		fired := key(v1alpha1.MonitorFiring{Rule: e.Rule, Target: e.Target.Name, UID: e.Target.UID, At: metav1.NewMicroTime(finished.at)})
		if i := slices.IndexFunc(s.next.Firings, func(f v1alpha1.MonitorFiring) bool { return key(f) == fired }); i >= 0 {
			if s.m.Spec.DryRun {
				s.next.Firings = slices.Delete(s.next.Firings, i, i+1)
				s.result(e.Rule, "dry run: would do "+names(s.rule(e.Rule)))
				continue
			}
			s.known.vars[key(s.next.Firings[i])] = e.Vars
		}
	}
	s.report(events)
}

// request takes the request for a reconciliation: a poll at once.
func (s *session) request() {
	value := v1alpha1.RequestedAt(s.m.Annotations)
	if len(value) > maxRequested {
		value = source.OneLine(value, maxRequested)
	}
	if value == s.next.ReconcileRequestedAt {
		return
	}
	s.next.ReconcileRequestedAt = value
	s.reconciler.mu.Lock()
	defer s.reconciler.mu.Unlock()
	s.known.due = s.now
}

// ended takes the end of reactions.
func (s *session) ended(done *reacted) {
	delete(s.known.vars, key(done.firing))
	s.next.Firings = slices.DeleteFunc(slices.Clone(s.next.Firings), func(f v1alpha1.MonitorFiring) bool { return key(f) == key(done.firing) })
	if done.dropped {
		return // nothing has happened that could be told
	}
	text := strings.Join(done.done, "; ")
	if done.err != nil {
		text = strings.TrimPrefix(text+"; "+done.failed+": "+done.err.Error(), "; ")
	}
	s.result(done.firing.Rule, text)
	s.reportReactions(done)
}

// result sets the result of the reactions of a rule.
func (s *session) result(rule, text string) {
	for i := range s.next.Rules {
		if s.next.Rules[i].Name == rule {
			s.next.Rules[i].LastResult = source.OneLine(text, maxResult)
		}
	}
}

// rule returns a rule of the spec, or nil.
func (s *session) rule(name string) *v1alpha1.MonitorRule {
	for i := range s.m.Spec.Rules {
		if s.m.Spec.Rules[i].Name == name {
			return &s.m.Spec.Rules[i]
		}
	}
	return nil
}

// names returns the reactions of a rule.
func names(r *v1alpha1.MonitorRule) string {
	var all []string
	for _, do := range r.Do {
		all = append(all, do.Name())
	}
	return strings.Join(all, ", ")
}

// store writes the status if that is worth it, and begins what is due. Reactions begin only
// after their firing is stored.
func (s *session) store(ctx context.Context, result reconcile.Result) (reconcile.Result, error) {
	s.known.status = s.next
	if s.known.writtenAt.IsZero() {
		s.known.writtenAt = s.now
	}
	if !verdict.Same(&s.m.Status, s.next) || s.now.Sub(s.known.writtenAt) >= heartbeat {
		before := s.m.DeepCopy()
		s.m.Status = *s.next.DeepCopy()
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := s.client.Status().Patch(ctx, s.m, patch, client.FieldOwner(v1alpha1.ActionsProgram))
		switch {
		case apierrors.IsConflict(err):
			return reconcile.Result{RequeueAfter: reconciling.ConflictPause}, nil
		case err != nil:
			s.Metrics.Erred("status")
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		s.known.writtenAt = s.now
	}
	if s.known.plan == nil || s.known.generation != s.m.Generation {
		return result, nil
	}
	s.react()
	if wait := s.poll(); wait > 0 {
		result.RequeueAfter = wait
	}
	return result, nil
}
