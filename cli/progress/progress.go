// Package progress shows the progress of graphs while they are applied, deleted
// or watched.
//
// A run reports to a [Sink]: [Lines] prints a line for each change, [Live] keeps
// a tree on a terminal up to date, and [JSON] writes a stream of events. When a
// graph has finished, [Summary] prints its outcome and names each object that is
// not in its desired state.
//
// A watched graph is run by another program, usually the applier in the cluster.
// Its states are shown one after the other, by [Live] or, as a line for each
// change, by [States].
//
// The package only prints. It decides nothing, and reads neither the environment
// nor the size of the terminal.
//
// The files:
//
//	progress.go          the types of runs and sinks
//	lines.go, json.go    sinks for logs and for programs
//	live.go, tree.go     the sink for terminals, and the tree that it draws
//	summary.go           the outcome of a run
//	states.go, watch.go  lines about watched graphs and objects, and their tree
//	status_text.go       the words for the status of an object, for all of them
package progress

import (
	"time"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// Graph is a graph as it is shown before the state of its objects is known. The
// embedded Owner is its namespace and name.
type Graph struct {
	inventory.Owner
	// Source names the instance that the graph was rendered from, as in
	// "WebService shop/web". It may be empty.
	Source string
	Nodes  []Node
}

// GraphsOf returns one graph per owner, without a source and nodes.
func GraphsOf(owners []inventory.Owner) []Graph {
	graphs := make([]Graph, len(owners))
	for i, owner := range owners {
		graphs[i].Owner = owner
	}
	return graphs
}

// Node is one node of a graph. Waves count from 0.
type Node struct {
	ID   string
	Key  inventory.Key
	Wave int
}

// Verb names the kind of a run. It selects the words of the outcome: ready or
// deleted.
type Verb string

// The verbs.
const (
	Apply  Verb = "apply"
	Delete Verb = "delete"
)

// Outcome is the end of a run of one graph. A Result without Err may still be a
// failure; see Ready.
type Outcome struct {
	Graph inventory.Owner
	Verb  Verb
	// Result is nil if the run could not start.
	Result *applier.Result
	// Err is the error that stopped the run early, or nil.
	Err error
	// Elapsed is the duration of the run.
	Elapsed time.Duration
}

// Sink receives the progress of runs. Its methods may be called by several
// goroutines at once, except for Close.
type Sink interface {
	// Change reports a change of one node, or of an object that left its graph.
	Change(graph inventory.Owner, e applier.Event)
	// Warn reports a warning that belongs to no object.
	Warn(text string)
	// Finish reports the outcome of a graph, after its last change.
	Finish(o Outcome)
	// Close is called once, after everything else.
	Close()
}

// Ready reports whether the run reached its goal: all nodes are ready, or all
// objects are deleted. A run that does not wait has reached its goal when every
// request was accepted.
func (o Outcome) Ready() bool {
	return o.Err == nil && o.Result != nil && (o.Result.Phase == engine.Completed || o.accepted())
}

// accepted reports whether a run without waiting wrote every object, or requested
// the deletion of every object.
func (o Outcome) accepted() bool {
	phase := o.Result.Phase
	return (phase == engine.Executing || phase == engine.Pruning) && o.count().Failed == 0
}
