package metrics

import "github.com/prometheus/client_golang/prometheus"

// instancesDesc describes the numbers of instances.
var instancesDesc = prometheus.NewDesc(prefix+"instances", "Instances by the phase in their status.", []string{"platform", "phase"}, nil)

// Instances collects the numbers of instances. It takes no memory between two scrapes.
type Instances struct {
	// Count calls a function with the number of instances of a platform in a phase, for each
	// platform and phase. It is called whenever the metrics are read.
	Count func(func(platform, phase string, instances int))
}

// Describe implements [prometheus.Collector].
func (Instances) Describe(to chan<- *prometheus.Desc) { to <- instancesDesc }

// Collect implements [prometheus.Collector].
func (c Instances) Collect(to chan<- prometheus.Metric) {
	c.Count(func(platform, phase string, instances int) {
		to <- prometheus.MustNewConstMetric(instancesDesc, prometheus.GaugeValue, float64(instances), platform, phase)
	})
}
