package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pequod-io/pequod/test/faults"
)

// graphsPerNamespace is the number of graphs in a namespace of the part scale. Controllers
// of Kubernetes compare each Service with all Pods of its namespace, so their costs for one large
// namespace grow with the square of the number of graphs.
const graphsPerNamespace = 100

// scalePoint has the costs of a number of graphs that exist at the same time.
type scalePoint struct {
	graphs int
	// added is the number of graphs that were created at once, and took is how long it took until
	// they were ready. CPU times and requests are those of that time.
	added                 int
	took                  time.Duration
	serverCPU, applierCPU time.Duration
	requests              map[string]int
	// Bytes at rest: memory of the applier and of the control plane, and the size of its store.
	applier, server memory
	store           float64
	// restRequests, restCPU and restServerCPU are the costs of a rest as long as the flag -idle.
	restRequests           int
	restCPU, restServerCPU time.Duration
	// drift are the times until changes of objects were corrected.
	drift durations
	// restart is how long a restarted applier took until it had executed all graphs.
	restart, restartCPU, restartServerCPU time.Duration
	restartRequests                       map[string]int
}

// measureScale measures how costs grow with the number of graphs. On one control plane, it
// adds graphs in steps until there are as many as each number of -graphs, and at each step
// measures the applier at rest, its reaction and its restart. The last two steps give the costs
// of a graph, with which [simulate] continues to numbers that the machine can't hold.
func (m *measurement) measureScale(ctx context.Context) error {
	if err := m.prepareForGraphs(ctx); err != nil {
		return err
	}
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	points := []*scalePoint{{}}
	proxy.Reset()
	for _, n := range slices.Compact(slices.Sorted(slices.Values(m.graphs))) {
		last := points[len(points)-1]
		added := &scalePoint{graphs: n, added: n - last.graphs}
		err := m.withController(ctx, proxy, func(ctx context.Context, c *controller) error {
			if err := m.measureRestarted(ctx, c, proxy, last); err != nil {
				return err
			}
			return m.measureAdded(ctx, c, proxy, added)
		})
		if err != nil {
			return err
		}
		points = append(points, added)
	}
	last := points[len(points)-1]
	err = m.withController(ctx, proxy, func(ctx context.Context, c *controller) error { return m.measureRestarted(ctx, c, proxy, last) })
	if err != nil {
		return err
	}
	if len(points) > 2 {
		m.reportSimulation(points[len(points)-2], last)
	}
	return nil
}

// measureAdded creates the graphs of p, and measures everything but the restart.
func (m *measurement) measureAdded(ctx context.Context, c *controller, proxy *faults.Proxy, p *scalePoint) error {
	j := job{Contestant: applierContestant, First: p.graphs - p.added, Graphs: p.added, Kubeconfig: m.server.Kubeconfig()}
	for range (p.added + graphsPerNamespace - 1) / graphsPerNamespace {
		namespace, err := m.createTenant(ctx, "scale")
		if err != nil {
			return err
		}
		j.Namespaces = append(j.Namespaces, namespace)
	}
	if err := waitUntilQuiet(ctx, proxy); err != nil {
		return err
	}
	proxy.Reset()
	before := processCPU(c.Pid())
	s, err := m.runBusy(ctx, j)
	if err != nil {
		return err
	}
	p.took, p.serverCPU, p.applierCPU, p.requests = s.work, s.serverCPU, processCPU(c.Pid())-before, countRequests(proxy)
	if err := waitUntilQuiet(ctx, proxy); err != nil {
		return err
	}
	proxy.Reset()
	before, serverBefore := processCPU(c.Pid()), m.serverCPU()
	if err := pause(ctx, m.idle); err != nil {
		return err
	}
	p.restCPU, p.restServerCPU, p.restRequests = processCPU(c.Pid())-before, m.serverCPU()-serverBefore, total(countRequests(proxy))
	if p.applier, err = c.memory(ctx); err != nil {
		return err
	}
	p.server = processMemory(m.server.Pid())
	if p.store, err = m.storeSize(ctx); err != nil {
		return err
	}
	p.drift, err = m.measureReaction(ctx, j)
	proxy.Reset() // for the restart
	return err
}

// measureRestarted measures how long the applier, which has just become the leader, takes to
// execute the graphs of p, and reports the figures of p if it has graphs.
func (m *measurement) measureRestarted(ctx context.Context, c *controller, proxy *faults.Proxy, p *scalePoint) error {
	began, before, serverBefore := time.Now(), processCPU(c.Pid()), m.serverCPU()
	if err := c.waitUntilManaged(ctx, objectsPerGraph*p.graphs); err != nil {
		return err
	}
	p.restart, p.restartCPU, p.restartServerCPU = time.Since(began), processCPU(c.Pid())-before, m.serverCPU()-serverBefore
	p.restartRequests = countRequests(proxy)
	if p.graphs > 0 {
		m.reportPoint(p)
	}
	return nil
}

// storeSize returns the size of the store of the control plane, in bytes.
func (c *controlPlane) storeSize(ctx context.Context) (float64, error) {
	const name = "apiserver_storage_size_bytes"
	text, err := c.client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	if len(families[name].GetMetric()) != 1 {
		return 0, fmt.Errorf("the API server has no metric %s", name)
	}
	return families[name].Metric[0].GetGauge().GetValue(), nil
}

// reportPoint adds the figures of a point.
func (m *measurement) reportPoint(p *scalePoint) {
	add := func(name, aim, format string, args ...any) {
		m.report.addFigure(figure{fmt.Sprintf("%d graphs: %s", p.graphs, name), fmt.Sprintf(format, args...), aim})
	}
	objects := float64(objectsPerGraph * p.graphs)
	requests := row{requests: p.requests, count: p.added, unit: "graph"}
	add(fmt.Sprintf("%d more ready", p.added), "", "%.1f s, CPU of the applier %.1f s, of the control plane %.1f s",
		p.took.Seconds(), p.applierCPU.Seconds(), p.serverCPU.Seconds())
	add("requests for them", "", "%s", requests.formatRequests())
	add(fmt.Sprintf("%s of rest", m.idle), "0 requests", "%d requests, CPU of the applier %.2f s, of the control plane %.1f s",
		p.restRequests, p.restCPU.Seconds(), p.restServerCPU.Seconds())
	add("memory of the applier", fmt.Sprintf("≤ %.0f MB", (memoryAim+objects*memoryPerObject)/1e6), "%.1f MB, heap %.1f, peak %.1f",
		p.applier.rss/1e6, p.applier.heap/1e6, p.applier.peak/1e6)
	add("memory of the control plane", "", "%.0f MB, peak %.0f; store %.0f MB", p.server.rss/1e6, p.server.peak/1e6, p.store/1e6)
	add("drift corrected", "", "%s", p.drift)
	add("restart of the applier", fmt.Sprintf("≥ %d/s", restartAim), "%.1f s, %.0f/s, CPU %.1f s, of the control plane %.1f s",
		p.restart.Seconds(), float64(p.graphs)/p.restart.Seconds(), p.restartCPU.Seconds(), p.restartServerCPU.Seconds())
	restarted := row{requests: p.restartRequests, count: p.graphs, unit: "graph"}
	add("requests of the restart", "", "%s", restarted.formatRequests())
}
