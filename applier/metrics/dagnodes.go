package metrics

import "github.com/prometheus/client_golang/prometheus"

// dagNodes collects the sizes of all graphs from their states. Unlike a
// [prometheus.GaugeVec], it takes no memory between two scrapes.
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
	all := make([]prometheus.Metric, 0, len(c.of.graphs))
	for g, s := range c.of.graphs {
		if s.executed >= 0 {
			all = append(all, prometheus.MustNewConstMetric(dagNodesDesc, prometheus.GaugeValue, float64(s.executed), g.label()))
		}
	}
	return all
}
