package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// shutdownTimeout limits how long a run that was stopped waits for requests in
// flight and records its results.
const shutdownTimeout = 10 * time.Second

// shutDown waits for the requests in flight and records their results: in the
// inventory of the run, or, if it was superseded, in the one of its successor. It
// has its own timeout, because ctx may be done.
func (r *run) shutDown(ctx context.Context, superseded bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	for r.inFlight > 0 {
		select {
		case a := <-r.done:
			r.inFlight--
			if !a.unsent {
				r.engine.Done(a.action, a.outcome)
			}
		case <-r.events:
		case <-ctx.Done():
			return fmt.Errorf("graph %s: %d requests weren't answered in time; the next run observes their results", r.engine.Owner(), r.inFlight)
		}
	}
	if superseded {
		if err := r.recordWithSuccessor(ctx); err != nil {
			return fmt.Errorf("graph %s: recording the results: %w", r.engine.Owner(), err)
		}
		return nil
	}
	if inv, changed := r.engine.UnsavedInventory(); changed {
		if err := r.Inventories.Save(ctx, inv); err != nil {
			return fmt.Errorf("graph %s: recording the results: %w", r.engine.Owner(), err)
		}
	}
	return nil
}

// recordWithSuccessor adds the objects that this run wrote, and that the run which
// superseded it doesn't list, to the stored inventory. The next run removes them.
// It retries when the successor saves at the same time.
func (r *run) recordWithSuccessor(ctx context.Context) error {
	// Objects that this run didn't write are either the successor's or unchanged.
	wrote := map[inventory.Key]bool{}
	for _, s := range r.engine.Statuses() {
		wrote[s.Key] = !s.AppliedAt.IsZero()
	}
	const attempts = 5
	var err error
	for range attempts {
		var stored *inventory.Inventory
		if stored, err = r.load(ctx, r.engine.Owner()); err != nil {
			return err
		}
		known := make(map[inventory.Key]bool, len(stored.Entries))
		for _, entry := range stored.Entries {
			known[entry.Key] = true
		}
		count := len(stored.Entries)
		for _, entry := range r.engine.Inventory().Entries {
			if wrote[entry.Key] && entry.UID != "" && !known[entry.Key] {
				entry.Node = "" // the object left the graph
				stored.Entries = append(stored.Entries, entry)
			}
		}
		if len(stored.Entries) == count {
			return nil
		}
		inventory.Sort(stored.Entries)
		stored.Complete = false
		var conflict *configmap.ConflictError
		if err = r.Inventories.Save(ctx, stored); !errors.As(err, &conflict) {
			return err
		}
	}
	return err
}

// requestError returns Result.RequestError. A run that timed out while it only
// waited for watches has sent no request recently, so it sends one now.
func (r *run) requestError(ctx context.Context, err error) error {
	if failed := r.engine.RequestError(); failed != nil || !errors.Is(err, ErrTimeout) {
		return failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	_, err = r.Inventories.Load(ctx, r.engine.Owner())
	return err
}
