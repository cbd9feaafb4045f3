package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pequod-io/pequod/test/faults"
)

// graphAims are the largest ratios to the floor that the design allows, by the
// number of graphs. Other numbers have no aim.
var graphAims = map[int]string{100: "1.4"}

// warmUpGraphs is how many graphs are created on a new control plane before
// anything is measured: the server does some work only for the first of them.
const warmUpGraphs = 20

// measureGraphs measures how long it takes until many graphs, created at once,
// are ready. In every round the applier has just been started, and the floor runs
// without one.
func (m *measurement) measureGraphs(ctx context.Context) error {
	for _, n := range m.graphs {
		s := subject{graphsLabel(n), create}
		for round := range m.graphRounds {
			p, err := m.graphsRound(ctx, n, round)
			if err != nil {
				return err
			}
			m.report.addPair(s, p)
			fmt.Fprintf(os.Stderr, "%s: round %d of %d: floor %.1f s, applier %.1f s\n", s.workload, round+1, m.graphRounds,
				p.floor.work.Seconds(), p.applier.work.Seconds())
		}
		if err := m.countGraphs(ctx, n, s); err != nil {
			return err
		}
		m.report.addRow(row{s, graphAims[n], n, "graph"})
	}
	return nil
}

// graphsRound measures both contestants once, on a new control plane. They use it
// one after the other, in the order of the round.
func (m *measurement) graphsRound(ctx context.Context, n, round int) (pair, error) {
	var p pair
	if err := m.prepareForGraphs(ctx); err != nil {
		return p, err
	}
	for _, contestant := range order(round) {
		s, err := m.createGraphs(ctx, contestant, n, nil)
		if err != nil {
			return p, err
		}
		if contestant == floorContestant {
			p.floor = s
		} else {
			p.applier = s
		}
	}
	return p, nil
}

// prepareForGraphs starts a control plane, installs the applier and warms the
// server up.
func (m *measurement) prepareForGraphs(ctx context.Context) error {
	if err := m.restartControlPlane(ctx); err != nil {
		return err
	}
	if err := m.install(ctx); err != nil {
		return err
	}
	_, err := m.createGraphs(ctx, floorContestant, warmUpGraphs, nil)
	return err
}

// createGraphs creates n graphs in a new namespace and waits until they are ready
// or, for the floor, until their objects are. The applier's requests go through
// proxy unless it is nil.
//
// The floor's graphs are deleted afterwards. Otherwise the applier that is
// started next would execute them within its own measurement.
func (m *measurement) createGraphs(ctx context.Context, contestant string, n int, proxy *faults.Proxy) (s sample, err error) {
	namespace, err := m.createTenant(ctx, contestant)
	if err != nil {
		return s, err
	}
	j := job{contestant: contestant, workload: manyGraphs, graphs: n, verb: create, namespace: namespace, kubeconfig: m.kubeconfig}
	if err := m.waitUntilCalm(ctx); err != nil {
		return s, err
	}
	if contestant == floorContestant {
		if s, err = m.run(ctx, j, 0); err != nil {
			return s, err
		}
		return s, m.deleteGraphs(ctx, namespace)
	}
	return s, m.withController(ctx, proxy, func(c *controller) error {
		// Requests before this point belong to the start of the applier.
		if proxy != nil {
			proxy.Reset()
		}
		s, err = m.runWithController(ctx, c, j)
		return err
	})
}

// graphsLabel names the workload of n graphs in reports.
func graphsLabel(n int) string { return fmt.Sprintf("%d graphs", n) }

// runWithController does a job and replaces or completes its costs by those of
// the controller. The CPU time is that of both processes, because the floor's
// process does both parts itself: creating the graphs and executing them. The
// memory is the controller's.
func (m *measurement) runWithController(ctx context.Context, c *controller, j job) (sample, error) {
	before := c.cpu()
	s, err := m.run(ctx, j, 0)
	if err != nil {
		return sample{}, err
	}
	s.cpu += c.cpu() - before
	s.peakMiB = processMemory(c.cmd.Process.Pid).peak / mebibyte
	metrics, err := c.scrape(ctx, heapSystem)
	s.heapMiB = metrics.sum(heapSystem) / mebibyte
	return s, err
}

// countGraphs counts the applier's requests for n graphs, in a round of its own
// through a proxy.
func (m *measurement) countGraphs(ctx context.Context, n int, s subject) error {
	if err := m.prepareForGraphs(ctx); err != nil {
		return err
	}
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	if _, err := m.createGraphs(ctx, applierContestant, n, proxy); err != nil {
		return err
	}
	m.report.addRequests(s, countRequests(proxy))
	return nil
}
