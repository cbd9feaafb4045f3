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

// graphKey is a graph.
type graphKey struct{ namespace, name string }

// label is the value of the label resourcegraph.
func (g graphKey) label() string { return g.namespace + "/" + g.name }

// graphState is what is known of a graph. There may be thousands that rest, so it
// is small.
type graphState struct {
	nodes   map[string]*nodeState
	objects []tally
	// applied says when nodes were applied that aren't ready.
	applied map[string]time.Time
}

// nodeState is what labels say of nodes; gvk isn't capped yet.
type nodeState struct{ mode, gvk string }

// tally is how many objects of a place a graph has.
type tally struct {
	place
	n int
}

// place is a series of resources_managed.
type place struct{ gvk, namespace string }

// undeclared is a node that Declare wasn't told of.
var undeclared = nodeState{string(v1alpha1.ApplyModeApply), "unknown"}

// gvkLabel is a kind as labels name it: apps/v1/Deployment, v1/ConfigMap.
func gvkLabel(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

func (m *Metrics) graph(g graphKey) *graphState {
	s := m.graphs[g]
	if s == nil {
		s = &graphState{}
		m.graphs[g] = s
	}
	return s
}

// Declare says which nodes a graph has, before anything is told of them: it is
// from here that their apply mode and kind are known. Nodes that it had and has
// no longer are forgotten.
func (m *Metrics) Declare(rg *v1alpha1.ResourceGraph) {
	nodes := make(map[string]*nodeState, len(rg.Spec.Graph.Nodes))
	gvks := map[string]bool{}
	for _, n := range rg.Spec.Graph.Nodes {
		state := undeclared
		if n.ApplyPolicy != nil && n.ApplyPolicy.Mode != "" {
			state.mode = string(n.ApplyPolicy.Mode)
		}
		var object metav1.TypeMeta
		// What can't be read is no object, and is never applied.
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

// shared gives the one copy of what many nodes have alike.
func (m *Metrics) shared(state nodeState) *nodeState {
	have := m.states[state]
	if have == nil {
		if len(m.states) > manyStates {
			clear(m.states) // of graphs that are long gone, for the most part
		}
		have = &state
		m.states[state] = have
	}
	return have
}

// manyStates bounds what is kept to be shared.
const manyStates = 10 * kindsInAll

func (s *graphState) manages(gvk string) bool {
	return slices.ContainsFunc(s.objects, func(t tally) bool { return t.gvk == gvk })
}

// Managed says what a graph's inventory holds.
func (m *Metrics) Managed(ns, graph string, entries []inventory.Entry) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.graph(g)
	objects := map[place]int{}
	for _, e := range entries {
		if e.UID == "" {
			continue // it was never applied
		}
		gvk := gvkLabel(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
		objects[place{m.kinds.take(g, gvk), e.Namespace}]++
	}
	m.setManaged(s, objects)
}

// setManaged counts what a graph manages instead of what it did.
func (m *Metrics) setManaged(s *graphState, objects map[place]int) {
	change := map[place]int{}
	for _, t := range s.objects {
		change[t.place] -= t.n
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

// Forget removes the series of a graph that is gone.
func (m *Metrics) Forget(ns, graph string) {
	g := graphKey{ns, graph}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.graphs[g]; s != nil {
		m.setManaged(s, nil)
	}
	delete(m.graphs, g)
	none := func(string) bool { return false }
	m.dropNodeIDs(g, none)
	m.dropKinds(g, none)
	m.dagNodes.DeleteLabelValues(g.label())
	m.drift.DeleteLabelValues(g.label())
	for _, result := range []string{resultSuccess, resultFailure} {
		m.dagDuration.DeleteLabelValues(g.label(), result)
	}
}

func (m *Metrics) dropNodeIDs(g graphKey, keep func(string) bool) {
	for _, id := range m.nodeIDs.drop(g, keep) {
		for _, result := range []string{resultSuccess, resultTimeout} {
			m.nodeDuration.DeleteLabelValues(id, result)
		}
	}
}

func (m *Metrics) dropKinds(g graphKey, keep func(string) bool) {
	for _, gvk := range m.kinds.drop(g, keep) {
		m.applies.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
		m.applyDuration.DeletePartialMatch(prometheus.Labels{"gvk": gvk})
	}
}
