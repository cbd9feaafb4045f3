package engine

import "fmt"

// RequestError is a failure of what the engine asks for that isn't an object's own and
// wasn't mended since: the survey, the record, what other graphs list, or reading
// an object. It is what keeps a run from getting on when the cluster goes away.
// Nil if there is none; what stopped the engine for good is [Engine.Err].
func (e *Engine) RequestError() error {
	if e.stop != nil {
		return nil
	}
	for _, part := range []struct {
		what  string
		state *failureState
	}{
		{"the inventory can't be written", &e.record},
		{"the objects can't be read", &e.survey},
		{"what other graphs list can't be read", &e.asked},
	} {
		if part.state.failure != nil {
			return fmt.Errorf("%s: %w", part.what, part.state.failure)
		}
	}
	for _, n := range e.nodes {
		if f := n.state.look.failure; f != nil && !f.Terminal {
			return fmt.Errorf("%s can't be read: %w", n.key, f)
		}
	}
	for _, l := range e.leavers {
		if f := l.look.failure; f != nil && !f.Terminal {
			return fmt.Errorf("%s can't be read: %w", l.entry.Key, f)
		}
	}
	return nil
}
