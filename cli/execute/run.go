package execute

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/inventory"
)

// MaxConcurrent is the number of graphs that are run or planned at the same time.
// Each of them may send several requests at once, and the client has no rate
// limit of its own, so this number bounds the load on the API server.
const MaxConcurrent = 8

// RunEach runs graphs concurrently, sends their progress to the sink, and returns
// the results in the order of graphs. run executes the graph with the given index
// and reports events; it is called by up to [MaxConcurrent] goroutines at once. A
// failed graph doesn't stop the others. If ctx ends, every run ends by itself and
// RunEach returns all results. The caller closes the sink.
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
			return nil // the error is in ends, and must not cancel the others
		})
	}
	_ = g.Wait() // never an error, see above
	return ends
}
