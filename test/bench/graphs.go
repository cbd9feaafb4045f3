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
// without one. Both use the same new control plane, one after the other.
func (m *measurement) measureGraphs(ctx context.Context) error {
	for _, n := range m.graphs {
		row := m.report.addRow(fmt.Sprintf("%d graphs", n), graphAims[n], n, "graph")
		for round := range m.graphRounds {
			if err := m.prepareForGraphs(ctx); err != nil {
				return err
			}
			p, err := runPair(round, func(contestant string) (sample, error) { return m.createGraphs(ctx, contestant, n, nil) })
			if err != nil {
				return err
			}
			row.pairs = append(row.pairs, p)
			fmt.Fprintf(os.Stderr, "%s: round %d of %d: floor %.1f s, applier %.1f s\n", row.name, round+1, m.graphRounds,
				p.floor.work.Seconds(), p.applier.work.Seconds())
		}
		var err error
		if row.requests, err = m.countGraphs(ctx, n); err != nil {
			return err
		}
	}
	return nil
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
	j, err := m.graphsJob(ctx, contestant, n)
	if err != nil {
		return s, err
	}
	if contestant == floorContestant {
		if s, err = m.run(ctx, j); err != nil {
			return s, err
		}
		if m.operator {
			if err := m.deleteAll(ctx, instances, j.Namespaces[0]); err != nil {
				return s, err
			}
		}
		return s, m.deleteAll(ctx, resourceGraphs, j.Namespaces[0])
	}
	return s, m.withController(ctx, proxy, func(ctx context.Context, c *controller) error {
		// Requests before this point belong to the start of the applier.
		if proxy != nil {
			proxy.Reset()
		}
		s, err = m.runWithController(ctx, c, j)
		return err
	})
}

// graphsJob returns the job of creating n graphs in a new namespace.
func (m *measurement) graphsJob(ctx context.Context, contestant string, n int) (job, error) {
	namespace, err := m.createTenant(ctx, contestant)
	return job{Contestant: contestant, Graphs: n, Instances: m.operator, Namespaces: []string{namespace}, Kubeconfig: m.server.Kubeconfig()}, err
}

// runWithController does a job and adds the costs of the controller. The CPU time
// is that of both processes, because the floor's process does both parts itself:
// creating the graphs and executing them. The memory is the controller's.
func (m *measurement) runWithController(ctx context.Context, c *controller, j job) (sample, error) {
	before := processCPU(c.Pid())
	s, err := m.run(ctx, j)
	if err != nil {
		return sample{}, err
	}
	s.cpu += processCPU(c.Pid()) - before
	s.peakMiB = processMemory(c.Pid()).peak / mebibyte
	return s, nil
}

// countGraphs counts the applier's requests for n graphs, in a round of its own
// through a proxy.
func (m *measurement) countGraphs(ctx context.Context, n int) (map[string]int, error) {
	if err := m.prepareForGraphs(ctx); err != nil {
		return nil, err
	}
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	_, err = m.createGraphs(ctx, applierContestant, n, proxy)
	fmt.Fprintf(os.Stderr, "%d graphs: requests of the applier\n%s", n, listRequests(proxy))
	return countRequests(proxy), err
}
