package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pequod-io/pequod/test/faults"
)

// graphAims are the ratios of the design, by how many graphs are created at once.
var graphAims = map[int]string{100: "1.7"}

// manyGraphs measures how long it takes until many graphs are ready that are
// created at once. The applier of a round has just been started; for the floor
// there is none.
func (m *measurement) manyGraphs(ctx context.Context) error {
	for _, n := range m.graphs {
		this := what{loadOf(n), create}
		for round := range m.graphRounds {
			p, err := m.graphRound(ctx, n, round)
			if err != nil {
				return err
			}
			m.results[this] = append(m.results[this], p)
			fmt.Fprintf(os.Stderr, "%s: round %d of %d: %.1f s and %.1f s\n", this.load, round+1, m.graphRounds,
				p.floor.work.Seconds(), p.applier.work.Seconds())
		}
		counts, err := m.countGraphs(ctx, n)
		if err != nil {
			return err
		}
		m.requests[this] = counts
		m.rows = append(m.rows, row{this, graphAims[n], n, "graph"})
	}
	return nil
}

func (m *measurement) graphRound(ctx context.Context, n, round int) (pair, error) {
	order := []string{byFloor, byApplier}
	if round%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	var p pair
	if err := m.warm(ctx); err != nil {
		return p, err
	}
	for _, who := range order {
		s, err := m.createGraphs(ctx, who, n, nil)
		if err != nil {
			return p, err
		}
		if who == byFloor {
			p.floor = s
		} else {
			p.applier = s
		}
	}
	return p, nil
}

// warm starts a control plane, installs the applier, and has the server do once
// what takes longer the first time.
func (m *measurement) warm(ctx context.Context) error {
	if err := m.renew(ctx); err != nil {
		return err
	}
	if err := m.install(ctx); err != nil {
		return err
	}
	_, err := m.createGraphs(ctx, byFloor, 20, nil)
	return err
}

// createGraphs creates graphs and waits for what becomes of them. Requests of the
// applier go through the proxy, if there is one.
func (m *measurement) createGraphs(ctx context.Context, who string, n int, proxy *faults.Proxy) (s sample, err error) {
	namespace, err := m.tenant(ctx, who)
	if err != nil {
		return s, err
	}
	j := job{who: who, load: many, graphs: n, verb: create, namespace: namespace, kubeconfig: m.kubeconfig}
	if err := m.calm(ctx); err != nil {
		return s, err
	}
	if who == byFloor {
		if s, err = m.run(ctx, j, 0); err != nil {
			return s, err
		}
		return s, m.withdraw(ctx, namespace)
	}
	return s, m.with(ctx, proxy, func(c *controller) error {
		if proxy != nil {
			proxy.Reset()
		}
		s, err = m.runBeside(ctx, c, j)
		return err
	})
}

// loadOf names the load of many graphs.
func loadOf(n int) string { return fmt.Sprintf("%d graphs", n) }

// runBeside does a job and adds what an applier took meanwhile.
func (m *measurement) runBeside(ctx context.Context, c *controller, j job) (sample, error) {
	before := c.cpu()
	s, err := m.run(ctx, j, 0)
	if err != nil {
		return sample{}, err
	}
	s.cpu += c.cpu() - before
	s.peakMiB = processMemory(c.cmd.Process.Pid).peak / MiB
	metrics, err := c.scrape(ctx, "go_memstats_heap_sys_bytes")
	s.heapMiB = metrics.sum("go_memstats_heap_sys_bytes") / MiB
	return s, err
}

// countGraphs counts the applier's requests for as many graphs.
func (m *measurement) countGraphs(ctx context.Context, n int) (map[string]int, error) {
	if err := m.warm(ctx); err != nil {
		return nil, err
	}
	proxy, err := faults.Start(m.as, 1)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	_, err = m.createGraphs(ctx, byApplier, n, proxy)
	return counted(proxy), err
}

// counted are the requests by verb, renewals of the lease apart.
func counted(proxy *faults.Proxy) map[string]int {
	counts := map[string]int{}
	for _, r := range proxy.Requests() {
		switch {
		case r.Resource == "leases.coordination.k8s.io":
		case r.Discovery() || r.Resource == "/livez":
			counts[discovery]++
		default:
			counts[r.Verb]++
		}
	}
	return counts
}
