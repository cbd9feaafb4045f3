package applier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// trust is how long a run that writes believes that it is still the one that
// applies the graph. A run that waited for longer looks again before it writes:
// what another revision changed would be drift to it.
const trust = 2 * time.Second

// guard knows whether another run applies another revision.
type guard struct {
	mu       sync.Mutex
	revision string
	checked  time.Time
}

// believe notes that the inventory was read or written just now.
func (g *guard) believe(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checked = now
}

// mayWrite is an error that says so if another run applies another revision.
func (r *run) mayWrite(ctx context.Context) error {
	r.guard.mu.Lock()
	defer r.guard.mu.Unlock()
	if r.now().Sub(r.guard.checked) < trust {
		return nil
	}
	stored, err := r.Inventories.Load(ctx, r.engine.Owner())
	switch {
	case err != nil:
		return fmt.Errorf("whether another run applies the graph can't be told: %w", err)
	case stored.Revision != "" && stored.Revision != r.guard.revision:
		return ErrSuperseded
	}
	r.guard.checked = r.now()
	return nil
}

// bequeath adds to the inventory of the run that took over what this one wrote
// and that one doesn't know of, so that the next run removes it.
func (r *run) bequeath(ctx context.Context) error {
	wrote := map[inventory.Key]bool{}
	for _, s := range r.engine.Statuses() {
		wrote[s.Key] = !s.AppliedAt.IsZero()
	}
	const tries = 5
	var err error
	for range tries {
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
				entry.Node = ""
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
