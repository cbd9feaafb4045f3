package engine

import "fmt"

// RequestError returns the last error of a request that the whole run depends on
// and that didn't succeed since: the Survey, a Record, LoadClaims, or reading an
// object. It explains why a run can't progress, for example because the cluster
// is unreachable. It is nil if there is no such error, or if the engine was
// stopped, see [Engine.Err]. An API group that isn't available concerns only its
// objects, whose states show it.
func (e *Engine) RequestError() error {
	if e.fatal != nil {
		return nil
	}
	if err := e.SharedError(); err != nil {
		return err
	}
	for _, n := range e.nodes.all {
		if f := n.progress.read.failure; stopsRun(f) {
			return fmt.Errorf("%s can't be read: %w", n.key, f)
		}
	}
	for key, r := range e.removals.byKey {
		if f := r.read.failure; stopsRun(f) {
			return fmt.Errorf("%s can't be read: %w", key, f)
		}
	}
	return nil
}

// stopsRun reports whether a failed read of an object may be the reason why the whole run
// can't progress.
func stopsRun(f *Failure) bool {
	return f != nil && !f.Terminal && f.Reason != ReasonKindUnavailable
}

// SharedError returns the last error of a request for all objects that didn't succeed
// since: the Survey, a Record or LoadClaims. The states of the nodes don't show it. It is
// nil if there is no such error.
func (e *Engine) SharedError() error {
	for _, request := range []struct {
		failed string
		state  *retryState
	}{
		{"the inventory can't be written", &e.ledger.record},
		{"the objects can't be read", &e.survey.retryState},
		{"what other graphs list can't be read", &e.removals.claims.load},
	} {
		if request.state.failure != nil {
			return fmt.Errorf("%s: %w", request.failed, request.state.failure)
		}
	}
	return nil
}
