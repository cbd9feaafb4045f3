package share

import (
	"sync"

	"github.com/pequod-io/pequod/inventory"
)

// departures records which objects leave which graphs at the moment: they stay for a
// grace period. A graph that lists such an object waits for it instead of failing,
// and the graph that it leaves hands it over without waiting for the period to end.
//
// It is a shortcut in memory. Without it, for example after a restart, the object is
// handed over all the same, as soon as the graph that it leaves is executed.
type departures struct {
	mu     sync.Mutex
	graphs map[inventory.Key]Graph
	keys   map[Graph][]inventory.Key
}

func newDepartures() *departures {
	return &departures{graphs: map[inventory.Key]Graph{}, keys: map[Graph][]inventory.Key{}}
}

// set replaces the objects that leave a graph.
func (d *departures) set(g Graph, keys []inventory.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range d.keys[g] {
		if d.graphs[key] == g {
			delete(d.graphs, key)
		}
	}
	delete(d.keys, g)
	if len(keys) == 0 {
		return
	}
	d.keys[g] = keys
	for _, key := range keys {
		d.graphs[key] = g
	}
}

// from reports whether an object leaves the graph that its labels name, which is in
// a namespace.
func (d *departures) from(namespace string, key inventory.Key, owner inventory.Owner) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.graphs[key]
	return g != nil && g.Owner().Namespace == namespace && labeled(g.Owner()) == owner
}

// in returns the namespaces of graphs that objects leave.
func (d *departures) in() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	namespaces := map[string]bool{}
	for g := range d.keys {
		namespaces[g.Owner().Namespace] = true
	}
	return namespaces
}

// any reports whether any object leaves a graph.
func (d *departures) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.graphs) > 0
}

// claim notifies the graphs of the same namespace that objects leave and that g
// lists.
func (d *departures) claim(g Graph, keys []inventory.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.graphs) == 0 {
		return
	}
	notified := map[Graph]bool{g: true}
	for _, key := range keys {
		from := d.graphs[key]
		if from == nil || notified[from] || from.Owner().Namespace != g.Owner().Namespace {
			continue
		}
		notified[from] = true
		from.Notify(Observation{Type: Claimed})
	}
}
