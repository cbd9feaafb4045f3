package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pequod-io/pequod/test/faults"
)

// restartAim is the number of unchanged graphs per second after a restart.
const restartAim = 1000

// measureRestart measures how long a restarted applier takes to find that nothing
// has to be done for its graphs. The number of graphs is the last of -graphs, and
// the time begins when the applier is the leader.
func (m *measurement) measureRestart(ctx context.Context) error {
	n := m.graphs[len(m.graphs)-1]
	if err := m.prepareForGraphs(ctx); err != nil {
		return err
	}
	if _, err := m.createGraphs(ctx, applierContestant, n, nil); err != nil {
		return err
	}
	for range m.graphRounds {
		err := m.withController(ctx, nil, func(ctx context.Context, c *controller) error {
			began, cpuBefore := time.Now(), processCPU(c.Pid())
			err := c.waitUntilManaged(ctx, objectsPerGraph*n)
			m.reportRestart(n, time.Since(began), processCPU(c.Pid())-cpuBefore)
			return err
		})
		if err != nil {
			return err
		}
	}
	return m.countRestart(ctx, n)
}

// countRestart counts the requests of a restart, in a run of its own through a proxy, from the
// start of the program.
func (m *measurement) countRestart(ctx context.Context, n int) error {
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	return m.withController(ctx, proxy, func(ctx context.Context, c *controller) error {
		err := c.waitUntilManaged(ctx, objectsPerGraph*n)
		fmt.Fprintf(os.Stderr, "%d graphs: requests of a restart\n%s", n, listRequests(proxy))
		restarted := row{requests: countRequests(proxy), count: n, unit: "graph"}
		m.report.addFigure(figure{fmt.Sprintf("%d graphs: requests of a restart", n), restarted.formatRequests(), ""})
		return err
	})
}

// reportRestart adds the figures of one restart.
func (m *measurement) reportRestart(n int, took, cpu time.Duration) {
	name := fmt.Sprintf("%d graphs: unchanged after a restart", n)
	text := fmt.Sprintf("%.0f/s, %.2f s, CPU %.2f s", float64(n)/took.Seconds(), took.Seconds(), cpu.Seconds())
	m.report.addFigure(figure{name, text, fmt.Sprintf("≥ %d/s", restartAim)})
}

// waitUntilManaged waits until the controller has executed graphs with n objects.
func (c *controller) waitUntilManaged(ctx context.Context, n int) error {
	return poll(ctx, func() (bool, error) {
		managed, err := c.managed(ctx)
		return managed >= n, err
	})
}

// managed returns the number of objects of the graphs that the controller has
// executed since its start.
func (c *controller) managed(ctx context.Context) (int, error) {
	const name = "pequod_resources_managed"
	response, err := get(ctx, "http://"+c.metrics+"/metrics?"+url.Values{"name[]": {name}}.Encode())
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	sum := 0
	for _, series := range families[name].GetMetric() {
		sum += int(series.GetGauge().GetValue())
	}
	return sum, err
}
