package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/pequod-io/pequod/test/faults"
)

// measureCLI measures every case of the part cli in rounds, and then counts its
// requests. Round 0 warms the server up and does not count. All cases share one
// control plane.
func (m *measurement) measureCLI(ctx context.Context) error {
	if err := m.restartControlPlane(ctx); err != nil {
		return err
	}
	for _, name := range strings.Split(m.cases, ",") {
		load, known := workloads[name]
		if !known {
			return fmt.Errorf("unknown case %q", name)
		}
		for round := range m.rounds + 1 {
			pairs, err := m.cliRound(ctx, name, round)
			if err != nil {
				return err
			}
			for verb, p := range pairs {
				if round > 0 {
					m.report.addPair(subject{name, verb}, p)
				}
			}
			fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", name, round, m.rounds)
		}
		if err := m.countCLI(ctx, name); err != nil {
			return err
		}
		for _, verb := range verbs {
			m.report.addRow(row{subject{name, verb}, load.aims[verb], load.count, "object"})
		}
	}
	return nil
}

// cliRound lets floor and applier create, apply again and delete a workload, each
// in a namespace of its own. For each verb the contestants run directly one after
// the other, so that both see the machine in the same state.
func (m *measurement) cliRound(ctx context.Context, name string, round int) (map[string]pair, error) {
	contestants := order(round)
	namespaces := map[string]string{}
	for _, contestant := range contestants {
		var err error
		if namespaces[contestant], err = m.createNamespace(ctx, contestant); err != nil {
			return nil, err
		}
	}
	pairs := map[string]pair{}
	for _, verb := range verbs {
		var p pair
		for _, contestant := range contestants {
			j := job{contestant: contestant, workload: name, verb: verb, namespace: namespaces[contestant], kubeconfig: m.kubeconfig}
			s, err := m.run(ctx, j, round)
			if err != nil {
				return nil, err
			}
			if contestant == floorContestant {
				p.floor = s
			} else {
				p.applier = s
			}
		}
		pairs[verb] = p
	}
	return pairs, nil
}

// countCLI counts the requests of the applier for a workload, with the three
// verbs in one namespace. Seed 1 of the proxy has no effect, as no faults are
// injected.
func (m *measurement) countCLI(ctx context.Context, name string) error {
	proxy, err := faults.Start(m.config, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	kubeconfig := m.scratchFile("kubeconfig")
	if err := writeKubeconfig(kubeconfig, proxy.Config(m.config)); err != nil {
		return err
	}
	namespace, err := m.createNamespace(ctx, "counted")
	if err != nil {
		return err
	}
	for _, verb := range verbs {
		proxy.Reset()
		j := job{contestant: applierContestant, workload: name, verb: verb, namespace: namespace, kubeconfig: kubeconfig}
		if _, err := m.run(ctx, j, 0); err != nil {
			return err
		}
		m.report.addRequests(subject{name, verb}, countRequests(proxy))
	}
	return nil
}
