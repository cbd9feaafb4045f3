// Package progress shows what becomes of graphs while they are applied or
// deleted: [Lines] prints a line for each change, [Live] keeps a tree on a
// terminal up to date, and [JSON] writes a stream of events. [Summary] says at
// the end how it went, and names each object that isn't as it should be.
//
// Graphs that somebody else runs are shown as they are, state after state: by
// [Live] as well, and by [States] a line for each change.
//
// The package prints what the applier tells it. It decides nothing, and reads
// neither the environment nor the terminal.
package progress

import (
	"time"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Graph is a graph as it is shown before anything is known of its objects.
type Graph struct {
	inventory.Owner
	// Source names the instance that the graph was rendered from, as in
	// "WebService shop/web"; it may be empty.
	Source string
	Nodes  []Node
}

// Node is one node of a graph. Waves count from 0.
type Node struct {
	ID   string
	Key  inventory.Key
	Wave int
}

// Verb is what is done to a graph.
type Verb string

// The verbs.
const (
	Apply  Verb = "apply"
	Delete Verb = "delete"
)

// End is how it ended for a graph.
type End struct {
	Graph inventory.Owner
	Verb  Verb
	// Result is nil where the graph couldn't even be begun.
	Result *applier.Result
	// Err is the error that ended it before it was through.
	Err     error
	Elapsed time.Duration
}

// Sink is told what happens, by any number of goroutines.
type Sink interface {
	// Change is a change of one node, or of an object that left a graph.
	Change(graph inventory.Owner, e applier.Event)
	// Warn is a warning that belongs to no object.
	Warn(text string)
	// End comes after the last change of a graph.
	End(e End)
	// Close comes after everything.
	Close()
}

// Ready says whether a graph ended as it was to.
func (e End) Ready() bool {
	return e.Err == nil && e.Result != nil && (e.Result.Phase == engine.Completed || e.applied())
}

// applied says that nobody waited for more than for every object to be written,
// or its deletion to be asked for.
func (e End) applied() bool {
	switch e.Result.Phase {
	case engine.Executing, engine.Pruning:
		return e.count().failed == 0
	case engine.Completed, engine.Stuck:
	}
	return false
}
