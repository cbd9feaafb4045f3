package execute

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// graphsAtOnce bounds how many graphs are under way.
const MaxConcurrent = 8

// runEach runs graphs beside each other, tells the sink, and gives how it ended
// for each, in their order.
func RunEach(ctx context.Context, sink progress.Sink, verb progress.Verb, graphs []inventory.Owner,
	run func(context.Context, int, func(applier.Event)) (*applier.Result, error),
) []progress.Outcome {
	ends := make([]progress.Outcome, len(graphs))
	var g errgroup.Group
	g.SetLimit(MaxConcurrent)
	for i, owner := range graphs {
		g.Go(func() error {
			began := time.Now()
			result, err := run(ctx, i, func(e applier.Event) { sink.Change(owner, e) })
			ends[i] = progress.Outcome{Graph: owner, Verb: verb, Result: result, Err: err, Elapsed: time.Since(began)}
			sink.Finish(ends[i])
			return nil // how each ended is in ends
		})
	}
	_ = g.Wait() // never an error
	return ends
}
