package metrics

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unique"

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
	nodes []declaredNode // sorted by id
	// objects are the numbers of objects that the graph contributes to the
	// gauges.
	objects []tally
	// applied has the times at which nodes were applied that aren't ready yet; nil
	// if there are none.
	applied map[string]time.Time
	// conditions are the series of conditions that the graph is counted in.
	conditions []unique.Handle[conditionSeries]
	// executed is the number of nodes in the last execution, -1 if there was none.
	executed int
	// nodeIDs, kinds, executions and drifts are the values of labels that the graph
	// uses, see capped.
	nodeIDs, kinds, executions, drifts []string
}

// declaredNode is a node that was declared. Most nodes have the labels of many others.
type declaredNode struct {
	id     string
	labels unique.Handle[nodeLabels]
}

// nodeLabels has the labels of a node. The gvk is not bounded yet.
type nodeLabels struct{ mode, gvk string }

// tally is the number of a graph's objects in one series.
type tally struct {
	series unique.Handle[managedSeries]
	n      int
}

// managedSeries has the labels of one series of resources_managed.
type managedSeries struct{ gvk, namespace string }

// undeclared has the labels of nodes that aren't part of the declared graph.
var undeclared = nodeLabels{string(v1alpha1.ApplyModeApply), "unknown"}

// gvkLabel returns the value of the label gvk: apps/v1/Deployment, v1/ConfigMap.
func gvkLabel(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

// graph returns the state of a graph, which it creates if there is none. The
// caller holds m.mu.
func (m *Metrics) graph(g graphKey) *graphState {
	s := m.graphs[g]
	if s == nil {
		s = &graphState{executed: -1}
		m.graphs[g] = s
	}
	return s
}

// Declare takes the apply modes and kinds of a graph's nodes, which label
// everything that is recorded about the nodes later. The series of nodes and
// kinds that left the graph are removed.
func (m *Metrics) Declare(rg *v1alpha1.ResourceGraph) {
	nodes := make([]declaredNode, 0, len(rg.Spec.Graph.Nodes))
	ids, gvks := map[string]bool{}, map[string]bool{}
	for _, n := range rg.Spec.Graph.Nodes {
		labels := undeclared
		if n.ApplyPolicy != nil && n.ApplyPolicy.Mode != "" {
			labels.mode = string(n.ApplyPolicy.Mode)
		}
		var object metav1.TypeMeta
		// A resource that can't be decoded is invalid and is never applied.
		if n.Resource != nil && json.Unmarshal(n.Resource.Raw, &object) == nil && object.Kind != "" {
			labels.gvk = gvkLabel(object.GroupVersionKind())
		}
		nodes = append(nodes, declaredNode{n.ID, unique.Make(labels)})
		ids[n.ID], gvks[labels.gvk] = true, true
	}
	slices.SortFunc(nodes, func(a, b declaredNode) int { return cmp.Compare(a.id, b.id) })
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(graphKey{rg.Namespace, rg.Name})
	s.nodes = nodes
	maps.DeleteFunc(s.applied, func(id string, _ time.Time) bool { return !ids[id] })
	m.dropNodeIDs(s, func(id string) bool { return ids[id] })
	m.dropKinds(s, func(gvk string) bool { return gvks[gvk] || s.manages(gvk) })
}

// labels returns the labels of a node.
func (s *graphState) labels(node string) nodeLabels {
	i, declared := slices.BinarySearchFunc(s.nodes, node, func(n declaredNode, id string) int { return cmp.Compare(n.id, id) })
	if !declared {
		return undeclared
	}
	return s.nodes[i].labels.Value()
}

// manages reports whether the inventory of the graph has objects of a kind.
func (s *graphState) manages(gvk string) bool {
	return slices.ContainsFunc(s.objects, func(t tally) bool { return t.series.Value().gvk == gvk })
}

// Managed records the inventory of a graph. Objects that were never applied don't
// count.
func (m *Metrics) Managed(ns, graph string, entries []inventory.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(graphKey{ns, graph})
	objects := map[managedSeries]int{}
	for _, e := range entries {
		if e.UID == "" {
			continue // an intent only
		}
		gvk := gvkLabel(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
		objects[managedSeries{m.kinds.take(&s.kinds, gvk), e.Namespace}]++
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
		change[t.series.Value()] -= t.n
	}
	s.objects = make([]tally, 0, len(objects))
	for p, n := range objects {
		change[p] += n
		s.objects = append(s.objects, tally{unique.Make(p), n})
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
		none := func(string) bool { return false }
		m.dropNodeIDs(s, none)
		m.dropKinds(s, none)
		for _, label := range m.drifts.drop(&s.drifts, none) {
			m.drift.DeleteLabelValues(label)
		}
		for _, label := range m.executions.drop(&s.executions, none) {
			for _, result := range []string{resultSuccess, resultFailure} {
				m.dagDuration.remove([2]string{label, result})
			}
		}
	}
	delete(m.graphs, g)
}

// conditionSeries has the labels of one series of graphs.
type conditionSeries struct{ namespace, condition, status string }

// Conditions records the conditions in the status of a graph.
func (m *Metrics) Conditions(ns, graph string, conditions []metav1.Condition) {
	series := make([]unique.Handle[conditionSeries], len(conditions))
	for i, c := range conditions {
		series[i] = unique.Make(conditionSeries{ns, c.Type, string(c.Status)})
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
func (g conditionGauge) replace(before, now []unique.Handle[conditionSeries]) {
	for _, c := range now {
		g.graphs[c.Value()]++
	}
	for _, c := range before {
		g.graphs[c.Value()]--
	}
	for _, handle := range slices.Concat(before, now) {
		c := handle.Value()
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
func (m *Metrics) dropNodeIDs(s *graphState, keep func(string) bool) {
	for _, id := range m.nodeIDs.drop(&s.nodeIDs, keep) {
		for _, result := range []string{resultSuccess, resultTimeout} {
			m.nodeDuration.remove([2]string{id, result})
		}
	}
}

// dropKinds removes the series of kinds that only this graph used.
func (m *Metrics) dropKinds(s *graphState, keep func(string) bool) {
	for _, gvk := range m.kinds.drop(&s.kinds, keep) {
		m.applies.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
		m.applyDuration.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
	}
}
