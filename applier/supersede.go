package applier

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// guardInterval is how long a run that writes assumes that no other run has
// superseded it. After a longer pause it checks before it writes: otherwise it
// would take the changes of another revision for drift and revert them.
const guardInterval = 2 * time.Second

// guard detects that another run applies another revision of the graph. It is
// safe for concurrent use.
type guard struct {
	revision string // of this run
	mu       sync.Mutex
	checked  time.Time
}

// confirm notes that this run was the current one at a time.
func (g *guard) confirm(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.After(g.checked) {
		g.checked = now
	}
}

// check returns [ErrSuperseded] if the stored inventory has another revision. It
// reads the inventory at most once per guardInterval; concurrent writes wait for
// the result.
func (g *guard) check(ctx context.Context, a *Applier, owner inventory.Owner) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.now().Sub(g.checked) < guardInterval {
		return nil
	}
	stored, err := a.Inventories.Load(ctx, owner)
	switch {
	case err != nil:
		return fmt.Errorf("can't check whether another run applies the graph: %w", err)
	case stored.Revision != "" && stored.Revision != g.revision:
		return ErrSuperseded
	}
	g.checked = a.now()
	return nil
}
