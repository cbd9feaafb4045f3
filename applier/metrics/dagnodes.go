package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// dagNodes collects the sizes of all graphs from their states. Unlike a
// [prometheus.GaugeVec], it takes no memory between two scrapes. The largest graphs have
// series of their own, so that none of them is overlooked; other is the sum of the rest.
type dagNodes struct{ of *Metrics }

var dagNodesDesc = prometheus.NewDesc(prefix+"dag_nodes_total", "Nodes of a graph in its last execution.", []string{"resourcegraph"}, nil)

// Describe implements [prometheus.Collector].
func (dagNodes) Describe(to chan<- *prometheus.Desc) { to <- dagNodesDesc }

// Collect implements [prometheus.Collector].
func (c dagNodes) Collect(to chan<- prometheus.Metric) {
	for _, metric := range c.metrics() {
		to <- metric
	}
}

// metrics returns all series.
func (c dagNodes) metrics() []prometheus.Metric {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	type size struct {
		label string
		nodes int
	}
	var sizes []size
	for g, s := range c.of.graphs {
		if s.executed >= 0 {
			sizes = append(sizes, size{g.label(), s.executed})
		}
	}
	if len(sizes) > graphsInAll {
		slices.SortFunc(sizes, func(a, b size) int {
			return cmp.Or(cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.label, b.label))
		})
		rest := size{label: other}
		for _, s := range sizes[graphsInAll:] {
			rest.nodes += s.nodes
		}
		sizes = append(sizes[:graphsInAll], rest)
	}
	all := make([]prometheus.Metric, len(sizes))
	for i, s := range sizes {
		all[i] = prometheus.MustNewConstMetric(dagNodesDesc, prometheus.GaugeValue, float64(s.nodes), s.label)
	}
	return all
}
