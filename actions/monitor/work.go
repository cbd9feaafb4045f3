package monitor

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// reactionsTimeout limits the reactions of one firing.
const reactionsTimeout = 30 * time.Minute

// poll begins a poll if one is due, and returns when the next one is; 0 means that its end has
// the Monitor reconciled.
func (s *session) poll() time.Duration {
	r, k := s.reconciler, s.known
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.cancel != nil {
		return 0
	}
	if wait := k.due.Sub(s.now); wait > 0 {
		return wait
	}
	ctx, cancel := context.WithCancel(r.work)
	k.cancel, k.woken, k.begunAt = cancel, false, s.now
	k.due = s.now.Add(jitter(k.plan.Interval))
	m, plan := s.m.DeepCopy(), k.plan
	r.running.Go(func() {
		defer cancel()
		finished := r.read(ctx, m, plan)
		name := client.ObjectKeyFromObject(m)
		r.mu.Lock()
		k.cancel = nil
		if finished != nil {
			k.finished = finished
			k.count(finished)
		}
		r.mu.Unlock()
		r.wake(name)
	})
	return 0
}

// read reads the targets of a Monitor. It returns nil if ctx is done: then the Monitor was paused,
// changed or deleted, or the program ends, and nothing is known about the targets.
func (r *reconciler) read(ctx context.Context, m *v1alpha1.Monitor, plan *verdict.Plan) *round {
	began := r.Now()
	finished := &round{generation: m.Generation}
	finished.reading, finished.err = r.ask(ctx, m, plan)
	if ctx.Err() != nil {
		return nil
	}
	finished.at = r.Now()
	finished.took = finished.at.Sub(began)
	if finished.err != nil {
		r.Metrics.Erred("targets")
	}
	for _, p := range finished.reading.Polls {
		result := "success"
		if p.Err != nil {
			result = "failure"
			r.Metrics.Erred("poll")
		}
		r.Metrics.Polled(result)
	}
	r.Metrics.Read(finished.took)
	return finished
}

// ask has the prober read the targets, and recovers its panics.
func (r *reconciler) ask(ctx context.Context, m *v1alpha1.Monitor, plan *verdict.Plan) (reading verdict.Reading, err error) {
	defer func() {
		if v := recover(); v != nil {
			reading, err = verdict.Reading{}, r.recovered(m, v)
		}
	}()
	// The time for the list of the targets, and for turns at servers that are busy.
	ctx, cancel := context.WithTimeout(ctx, max(plan.Interval, 2*plan.Timeout)+10*time.Second)
	defer cancel()
	return r.Prober.Read(ctx, m, plan.Timeout)
}

// recovered logs a panic with its stack, and returns it as an error for the status, without the
// stack.
func (r *reconciler) recovered(m *v1alpha1.Monitor, v any) error {
	err := fmt.Errorf("internal error: %v", v)
	r.log.Error(err, "recovered a panic", "namespace", m.Namespace, "name", m.Name, "stack", string(debug.Stack()))
	return err
}

// react begins the reactions of the oldest firing, unless reactions are in flight.
func (s *session) react() {
	r, k := s.reconciler, s.known
	if len(s.m.Status.Firings) == 0 {
		return
	}
	firing := s.m.Status.Firings[0]
	vars := k.vars[key(firing)]
	if vars == nil {
		if !k.read {
			return // a firing of an earlier process: its state will be known
		}
		vars = k.plan.Vars(firing, k.states)
	}
	rule := s.rule(firing.Rule)
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.reacting || k.reacted != nil {
		return
	}
	k.reacting = true
	m := s.m.DeepCopy()
	r.running.Go(func() {
		// A rule that was removed, or has no reactions any more, does nothing.
		done := &reacted{firing: firing, dropped: rule == nil || len(rule.Do) == 0}
		if !done.dropped {
			ctx, cancel := context.WithTimeout(r.work, reactionsTimeout)
			defer cancel()
			r.do(ctx, m, rule.Do, done, vars)
		}
		if r.work.Err() != nil {
			return // the program ends, and the next one does it again
		}
		r.mu.Lock()
		k.reacting, k.reacted = false, done
		if !done.dropped {
			k.Reactions++
		}
		if done.err != nil {
			k.FailedReactions++
		}
		r.mu.Unlock()
		r.wake(types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
	})
}

// do does reactions in their order until one fails.
func (r *reconciler) do(ctx context.Context, m *v1alpha1.Monitor, all []v1alpha1.MonitorReaction, done *reacted, vars map[string]any) {
	for _, do := range all {
		began := r.Now()
		text, err := r.one(ctx, m, do, Occasion{done.firing, vars})
		result := v1alpha1.RunSucceeded
		if err != nil {
			result = v1alpha1.RunFailed
			r.Metrics.Erred("reaction")
		}
		r.Metrics.Reacted(do.Name(), result, r.Now().Sub(began))
		if err != nil {
			done.failed, done.err = do.Name(), err
			return
		}
		done.done = append(done.done, text)
	}
}

// one does one reaction, and recovers its panics.
func (r *reconciler) one(ctx context.Context, m *v1alpha1.Monitor, do v1alpha1.MonitorReaction, on Occasion) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.recovered(m, v)
		}
	}()
	return r.Reactor.Do(ctx, m, do, on)
}
