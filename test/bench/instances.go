package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pequod-io/pequod/test/faults"
)

// The aims of the part instances: the ratio to the floor, and unchanged instances per second
// after a restart.
const (
	instancesAim = "2.0"
	rerenderAim  = 200
)

// measureInstances measures how long it takes until many instances, created at once, are
// ready in operator mode, and how long a restarted manager takes to find that they are
// unchanged. The objects are those of the part graphs, and the floor creates the instances,
// too.
func (m *measurement) measureInstances(ctx context.Context) error {
	for _, n := range m.graphs {
		row := m.report.addRow(fmt.Sprintf("%d instances", n), instancesAim, n, "instance")
		for round := range m.graphRounds {
			if err := m.prepareForInstances(ctx); err != nil {
				return err
			}
			p, err := runPair(round, func(contestant string) (sample, error) { return m.createGraphs(ctx, contestant, n, nil) })
			if err != nil {
				return err
			}
			row.pairs = append(row.pairs, p)
			fmt.Fprintf(os.Stderr, "%s: round %d of %d: floor %.1f s, manager %.1f s\n", row.name, round+1, m.graphRounds,
				p.floor.work.Seconds(), p.applier.work.Seconds())
			if err := m.measureRerender(ctx, n, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepareForInstances starts a control plane with the kind of the instances.
func (m *measurement) prepareForInstances(ctx context.Context) error {
	m.operator = false
	if err := m.prepareForGraphs(ctx); err != nil {
		return err
	}
	m.operator = true
	// Its rights are not measured: as administrator, the manager needs no roles for the kind.
	m.applierConfig = m.config
	return m.defineInstances(ctx)
}

// measureRerender restarts the manager, and counts its requests until it has reconciled n
// unchanged instances.
func (m *measurement) measureRerender(ctx context.Context, n int, row *row) error {
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	return m.withController(ctx, proxy, func(ctx context.Context, c *controller) error {
		began, cpuBefore := time.Now(), processCPU(c.Pid())
		err := poll(ctx, func() (bool, error) {
			done, err := c.reconciled(ctx)
			return done >= n, err
		})
		if err != nil {
			return err
		}
		took, writes := time.Since(began), 0
		for _, r := range proxy.Requests() {
			// The leader election has a Lease and an Event.
			if r.Write() && r.Resource != "leases.coordination.k8s.io" && !strings.HasPrefix(r.Resource, "events") {
				writes++
			}
		}
		m.report.addFigure(figure{
			fmt.Sprintf("%d instances: unchanged after a restart", n),
			fmt.Sprintf("%.0f/s, %.2f s, CPU %.2f s without worker processes, %d writes, %.0f MiB", float64(n)/took.Seconds(), took.Seconds(),
				(processCPU(c.Pid()) - cpuBefore).Seconds(), writes, processMemory(c.Pid()).peak/mebibyte),
			fmt.Sprintf("≥ %d/s, 0 writes", rerenderAim),
		})
		row.requests = countRequests(proxy)
		return nil
	})
}

// reconciled returns the number of reconciliations of instances since the start of the
// manager.
func (c *controller) reconciled(ctx context.Context) (int, error) {
	const name = "pequod_reconcile_total"
	response, err := get(ctx, "http://"+c.metrics+"/metrics?name[]="+name)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return sumOf(response, name, "platforminstance")
}

// sumOf sums the series of a metric that have a value of the label controller.
func sumOf(response *http.Response, name, controller string) (int, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	sum := 0
	for _, series := range families[name].GetMetric() {
		for _, label := range series.GetLabel() {
			if label.GetName() == "controller" && label.GetValue() == controller {
				sum += int(series.GetCounter().GetValue())
			}
		}
	}
	return sum, err
}
