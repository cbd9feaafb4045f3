package engine

// Phase is the progress of a graph.
type Phase string

// The phases.
const (
	// Executing means that some node isn't ready, or a record is due.
	Executing Phase = "Executing"
	// Pruning means that every node is ready, and objects that left the graph are
	// being removed.
	Pruning Phase = "Pruning"
	// Completed means that the cluster matches the graph, and that is recorded.
	Completed Phase = "Completed"
	// Stuck means that the graph can't progress until a user changes something.
	Stuck Phase = "Stuck"
)
