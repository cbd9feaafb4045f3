package metrics

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// graphKey identifies a graph.
type graphKey struct{ namespace, name string }

// label returns the value of the label resourcegraph.
func (g graphKey) label() string { return g.namespace + "/" + g.name }

// graphState is the state of one graph. There may be thousands of idle graphs, so
// it is kept small.
type graphState struct {
	nodes map[string]*nodeState // by node id
	// objects are the numbers of objects that the graph contributes to the
	// gauges.
	objects []tally
	// applied has the times at which nodes were applied that aren't ready yet; nil
	// if there are none.
	applied map[string]time.Time
	// conditions are the series of conditions that the graph is counted in.
	conditions []conditionSeries
}

// nodeState has the labels of a node. The gvk is not bounded yet.
type nodeState struct{ mode, gvk string }

// tally is the number of a graph's objects in one series.
type tally struct {
	managedSeries
	n int
}

// managedSeries has the labels of one series of resources_managed.
type managedSeries struct{ gvk, namespace string }

// undeclared is the state of nodes that aren't part of the declared graph.
var undeclared = nodeState{string(v1alpha1.ApplyModeApply), "unknown"}

// gvkLabel returns the value of the label gvk: apps/v1/Deployment, v1/ConfigMap.
func gvkLabel(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

// graph returns the state of a graph, which it creates if there is none. The
// caller holds m.mu.
func (m *Metrics) graph(g graphKey) *graphState {
	s := m.graphs[g]
	if s == nil {
		s = &graphState{}
		m.graphs[g] = s
	}
	return s
}

// Declare takes the apply modes and kinds of a graph's nodes, which label
// everything that is recorded about the nodes later. The series of nodes and
// kinds that left the graph are removed.
func (m *Metrics) Declare(rg *v1alpha1.ResourceGraph) {
	nodes := make(map[string]*nodeState, len(rg.Spec.Graph.Nodes))
	gvks := map[string]bool{}
	for _, n := range rg.Spec.Graph.Nodes {
		state := undeclared
		if n.ApplyPolicy != nil && n.ApplyPolicy.Mode != "" {
			state.mode = string(n.ApplyPolicy.Mode)
		}
		var object metav1.TypeMeta
		// A resource that can't be decoded is invalid and is never applied.
		if n.Resource != nil && json.Unmarshal(n.Resource.Raw, &object) == nil && object.Kind != "" {
			state.gvk = gvkLabel(object.GroupVersionKind())
		}
		nodes[n.ID] = &state
		gvks[state.gvk] = true
	}
	g := graphKey{rg.Namespace, rg.Name}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, state := range nodes {
		nodes[id] = m.shared(*state)
	}
	s := m.graph(g)
	s.nodes = nodes
	maps.DeleteFunc(s.applied, func(id string, _ time.Time) bool { _, is := nodes[id]; return !is })
	m.dropNodeIDs(g, func(id string) bool { _, is := nodes[id]; return is })
	m.dropKinds(g, func(gvk string) bool { return gvks[gvk] || s.manages(gvk) })
}

// shared returns the shared copy of a state: most nodes have one of few. Nodes
// may keep a copy that was cleared from the table; it only isn't shared any more.
// The caller holds m.mu.
func (m *Metrics) shared(state nodeState) *nodeState {
	have := m.states[state]
	if have == nil {
		if len(m.states) > manyStates {
			clear(m.states) // most of them belong to graphs that were deleted
		}
		have = &state
		m.states[state] = have
	}
	return have
}

// manyStates is the number of shared states from which on they are dropped.
const manyStates = 10 * kindsInAll

// manages reports whether the inventory of the graph has objects of a kind.
func (s *graphState) manages(gvk string) bool {
	return slices.ContainsFunc(s.objects, func(t tally) bool { return t.gvk == gvk })
}

// Managed records the inventory of a graph. Objects that were never applied don't
// count.
func (m *Metrics) Managed(ns, graph string, entries []inventory.Entry) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(g)
	objects := map[managedSeries]int{}
	for _, e := range entries {
		if e.UID == "" {
			continue // an intent only
		}
		gvk := gvkLabel(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
		objects[managedSeries{m.kinds.take(g, gvk), e.Namespace}]++
	}
	m.setManaged(s, objects)
}

// setManaged replaces the numbers of a graph's objects, and updates the gauges by
// the difference. A gauge is a sum over all graphs, so no graph can set it alone.
// A series that comes to 0 is removed. The caller holds m.mu.
//
// For example, a graph with 3 ConfigMaps in a series of 10 that now has 1 changes
// the gauge to 8.
func (m *Metrics) setManaged(s *graphState, objects map[managedSeries]int) {
	change := map[managedSeries]int{}
	for _, t := range s.objects {
		change[t.managedSeries] -= t.n
	}
	s.objects = make([]tally, 0, len(objects))
	for p, n := range objects {
		change[p] += n
		s.objects = append(s.objects, tally{p, n})
	}
	for p, n := range change {
		m.objects[p] += n
		if m.objects[p] == 0 {
			delete(m.objects, p)
			m.managed.DeleteLabelValues(p.gvk, p.namespace)
			continue
		}
		m.managed.WithLabelValues(p.gvk, p.namespace).Set(float64(m.objects[p]))
	}
}

// Forget removes the series of a graph that doesn't exist any more.
func (m *Metrics) Forget(ns, graph string) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.graphs[g]; s != nil {
		m.setManaged(s, nil)
		m.process.conditions.replace(s.conditions, nil)
	}
	delete(m.graphs, g)
	none := func(string) bool { return false }
	m.dropNodeIDs(g, none)
	m.dropKinds(g, none)
	m.dagNodes.DeleteLabelValues(g.label())
	m.drift.DeleteLabelValues(g.label())
	for _, result := range []string{resultSuccess, resultFailure} {
		m.dagDuration.remove([2]string{g.label(), result})
	}
}

// conditionSeries has the labels of one series of graphs.
type conditionSeries struct{ namespace, condition, status string }

// Conditions records the conditions in the status of a graph.
func (m *Metrics) Conditions(ns, graph string, conditions []metav1.Condition) {
	series := make([]conditionSeries, len(conditions))
	for i, c := range conditions {
		series[i] = conditionSeries{ns, c.Type, string(c.Status)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.graph(graphKey{ns, graph})
	m.process.conditions.replace(state.conditions, series)
	state.conditions = series
}

// conditionGauge counts graphs by their conditions. Metrics.mu guards it.
type conditionGauge struct {
	vec    *prometheus.GaugeVec
	graphs map[conditionSeries]int
}

// replace counts one graph in other series than before. A series that comes to 0 is
// removed.
func (g conditionGauge) replace(before, now []conditionSeries) {
	for _, c := range now {
		g.graphs[c]++
	}
	for _, c := range before {
		g.graphs[c]--
	}
	for _, c := range slices.Concat(before, now) {
		if g.graphs[c] > 0 {
			g.vec.WithLabelValues(c.namespace, c.condition, c.status).Set(float64(g.graphs[c]))
		} else {
			delete(g.graphs, c)
			g.vec.DeleteLabelValues(c.namespace, c.condition, c.status)
		}
	}
}

// dropNodeIDs removes the series of node ids that only this graph used. The caller
// holds m.mu, here and in dropKinds.
func (m *Metrics) dropNodeIDs(g graphKey, keep func(string) bool) {
	for _, id := range m.nodeIDs.drop(g, keep) {
		for _, result := range []string{resultSuccess, resultTimeout} {
			m.nodeDuration.remove([2]string{id, result})
		}
	}
}

// dropKinds removes the series of kinds that only this graph used.
func (m *Metrics) dropKinds(g graphKey, keep func(string) bool) {
	for _, gvk := range m.kinds.drop(g, keep) {
		m.applies.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
		m.applyDuration.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
	}
}
