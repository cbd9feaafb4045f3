package controller

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
)

// unwritten begins anew when a status couldn't be written. Of a graph of which
// none can be, it says that instead.
func (r *run) unwritten(err error) {
	if reason, message := unwritable(err); reason != "" && r.goal.verb == execute && !r.stalled {
		r.stall(reason, message, r.d.c.now())
		return
	}
	if errors.Is(err, errSuperseded) {
		r.over = true
		r.d.restart()
		r.d.wake()
		return
	}
	r.complain(err, r.d.c.now())
}

// complain ends a run for an error that may pass.
func (r *run) complain(err error, now time.Time) {
	if r.over {
		return // what comes next begins anew anyway
	}
	if apierrors.IsNotFound(err) {
		// The graph went; the watch will tell.
		r.over = true
		r.d.restart()
		r.d.retryAt, r.d.tried = now.Add(time.Second), r.goal
		return
	}
	after := r.later(err)
	r.over = true
	r.d.failing = true
	r.d.retryAt = now.Add(after)
	r.d.restart()
	r.d.wake()
}

// later notes an error that may pass, and says when to try again.
func (r *run) later(err error) time.Duration {
	f := cluster.Classify(err)
	r.d.c.Metrics.ReconcileFailed(r.d.key.Namespace, r.d.key.Name, f.Reason)
	r.d.c.log.Info("graph is tried again", "namespace", r.d.key.Namespace, "name", r.d.key.Name, "reason", f.Message)
	r.d.attempts++
	return max(f.RetryAfter, backoff.AtMost(engine.MaxTransientBackoff).After(r.d.attempts))
}
