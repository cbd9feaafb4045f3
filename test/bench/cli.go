package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/server"
)

// measureCLI measures every workload of the part cli in rounds, and then counts
// its requests. Round 0 warms the server up and does not count. All workloads
// share one control plane.
func (m *measurement) measureCLI(ctx context.Context) error {
	if err := m.restartControlPlane(ctx); err != nil {
		return err
	}
	for _, load := range workloads {
		row := m.report.addRow(load.name, load.aim, load.count, "object")
		for round := range m.rounds + 1 {
			p, err := runPair(round, func(contestant string) (sample, error) {
				return m.createWorkload(ctx, contestant, load.name, m.server.Kubeconfig())
			})
			if err != nil {
				return err
			}
			if round > 0 {
				row.pairs = append(row.pairs, p)
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", load.name, round, m.rounds)
		}
		var err error
		if row.requests, err = m.countCLI(ctx, load.name); err != nil {
			return err
		}
	}
	return nil
}

// createWorkload lets a contestant create a workload in a new namespace.
func (m *measurement) createWorkload(ctx context.Context, contestant, load, kubeconfig string) (sample, error) {
	namespace, err := m.createNamespace(ctx, contestant)
	if err != nil {
		return sample{}, err
	}
	j := job{Contestant: contestant, Workload: load, Namespaces: []string{namespace}, Kubeconfig: kubeconfig}
	if m.profiles != "" {
		m.profiled++
		j.Profile = filepath.Join(m.profiles, fmt.Sprintf("%s-%s-%d.prof", load, contestant, m.profiled))
	}
	return m.run(ctx, j)
}

// deleteAim is the aim of the design for the requests of a deletion.
const deleteAim = "≤ 1.1 per object"

// countCLI counts the requests of the applier that creates a workload, and reports
// those of the one that deletes it. Seed 1 of the proxy has no effect, as no faults
// are injected.
func (m *measurement) countCLI(ctx context.Context, load string) (map[string]int, error) {
	proxy, err := faults.Start(m.config, 1)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	kubeconfig := m.scratchFile("kubeconfig")
	if err := server.WriteKubeconfig(kubeconfig, proxy.Config(m.config), ""); err != nil {
		return nil, err
	}
	namespace, err := m.createNamespace(ctx, applierContestant)
	if err != nil {
		return nil, err
	}
	j := job{Contestant: applierContestant, Workload: load, Namespaces: []string{namespace}, Kubeconfig: kubeconfig}
	if _, err = m.run(ctx, j); err != nil {
		return nil, err
	}
	created := countRequests(proxy)
	proxy.Reset()
	j.Delete = true
	s, err := m.run(ctx, j)
	if err != nil {
		return nil, err
	}
	deleted := row{requests: countRequests(proxy), count: findWorkload(load).count, unit: "object"}
	m.report.addFigure(figure{load + ": deleted", fmt.Sprintf("%.2f s, %s", s.work.Seconds(), deleted.formatRequests()), deleteAim})
	return created, nil
}
