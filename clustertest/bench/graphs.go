package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pequod-io/pequod/clustertest/faultproxy"
)

// graphAims are the ratios of the design, by how many graphs are created at once.
var graphAims = map[int]string{100: "1.7"}

// manyGraphs measures how long it takes until many graphs are ready that are
// created at once, and until they are gone. The applier of a round has just been
// started; for the floor there is none.
func (m *measurement) manyGraphs(ctx context.Context) error {
	for i, n := range m.graphs {
		first := 1
		if i == 0 {
			first = 0 // it warms the server up
		}
		load := loadOf(n)
		for round := first; round <= m.graphRounds; round++ {
			pairs, err := m.graphRound(ctx, n, round)
			if err != nil {
				return err
			}
			for verb, p := range pairs {
				if w := (what{load, verb}); round > 0 {
					m.results[w] = append(m.results[w], p)
				}
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", load, round, m.graphRounds)
		}
		if err := m.countGraphs(ctx, n); err != nil {
			return err
		}
		m.rows = append(m.rows, row{what{load, create}, graphAims[n], n, "graph"}, row{what{load, remove}, "", n, "graph"})
	}
	return nil
}

func (m *measurement) graphRound(ctx context.Context, n, round int) (map[string]pair, error) {
	order := []string{byFloor, byApplier}
	if round%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	pairs := map[string]pair{}
	for _, who := range order {
		samples, err := m.comeAndGo(ctx, who, n, nil)
		if err != nil {
			return nil, err
		}
		for verb, s := range samples {
			p := pairs[verb]
			if who == byFloor {
				p.floor = s
			} else {
				p.applier = s
			}
			pairs[verb] = p
		}
	}
	return pairs, nil
}

// comeAndGo creates graphs and removes them. Requests of the applier go through
// the proxy, if there is one.
func (m *measurement) comeAndGo(ctx context.Context, who string, n int, proxy *faultproxy.Proxy) (_ map[string]sample, err error) {
	namespace, err := m.tenant(ctx, who)
	if err != nil {
		return nil, err
	}
	var c *controller
	if who == byApplier {
		if c, err = m.startController(ctx, proxy); err != nil {
			return nil, err
		}
		defer func() {
			if stopped := c.stop(); err == nil {
				err = stopped
			}
		}()
	}
	samples := map[string]sample{}
	for _, verb := range []string{create, remove} {
		j := job{who: who, load: many, graphs: n, verb: verb, namespace: namespace, kubeconfig: m.kubeconfig}
		if proxy != nil {
			proxy.Reset()
		}
		if samples[verb], err = m.runBeside(ctx, c, j); err != nil {
			return nil, err
		}
		if proxy != nil {
			m.requests[what{loadOf(n), verb}] = counted(proxy)
		}
	}
	return samples, m.vacate(ctx, namespace)
}

// loadOf names the load of many graphs.
func loadOf(n int) string { return fmt.Sprintf("%d graphs", n) }

// runBeside does a job and adds what an applier took meanwhile, if there is one.
func (m *measurement) runBeside(ctx context.Context, c *controller, j job) (sample, error) {
	if c == nil {
		return m.run(ctx, j, 0)
	}
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
func (m *measurement) countGraphs(ctx context.Context, n int) error {
	proxy, err := faultproxy.Start(m.as, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	_, err = m.comeAndGo(ctx, byApplier, n, proxy)
	return err
}

// counted are the requests by verb, renewals of the lease apart.
func counted(proxy *faultproxy.Proxy) map[string]int {
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
