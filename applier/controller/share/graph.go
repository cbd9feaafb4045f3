package share

import (
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Graph is one graph as its shared services see it: the owner of requests and
// the receiver of observations. Implementations are compared with ==.
type Graph interface {
	// Owner names the graph.
	Owner() inventory.Owner
	// Notify hands over an observation. It is called from any goroutine, with
	// locks held: it must neither block nor call the Share.
	Notify(Observation)
}

// labeled returns the owner that the labels of a graph's objects name: labels
// cut long names.
func labeled(o inventory.Owner) inventory.Owner {
	o.Name = v1alpha1.LabelValue(o.Name)
	return o
}
