package applier

import (
	"context"
	"errors"
	"testing"

	"github.com/pequod-io/pequod/applier/engine"
)

// An action that waits for others when the run times out has no outcome: a failure would hide
// what is known of its object.
func TestTimeoutOfWaitingAction(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrTimeout)
	r := &run{slots: make(chan struct{}), done: make(chan answer, 1)} // no slot, and no engine
	r.start(ctx, []engine.Action{{Verb: engine.Read}})
	if err := r.receive(ctx, <-r.done); !errors.Is(err, ErrTimeout) || r.inFlight != 0 {
		t.Errorf("error %v, %d in flight; want timed out, 0", err, r.inFlight)
	}
}
