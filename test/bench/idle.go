package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// Aims of the design, in bytes: a process without graphs, and every managed
// object on top.
const (
	memoryAim       = 45e6
	memoryPerObject = 2e3
)

// quietTime is how long an applier must have sent no request to count as idle.
const quietTime = 5 * time.Second

// measureIdle creates graphs, waits until the applier has nothing left to do, and
// measures the requests, CPU time and memory that it uses from then on. The
// number of graphs is the last of -graphs. The steps:
//
// 1. Start the applier without graphs, and read its memory when it is quiet.
//
// 2. Create the graphs, and wait until they are ready and the applier is quiet.
//
// 3. Observe the applier for the time of the flag -idle: requests and CPU time.
//
// 4. Read its memory again. The difference is the cost of the objects.
//
// 5. Change objects of some graphs, and measure how long it takes until the applier has
// corrected each change.
func (m *measurement) measureIdle(ctx context.Context) error {
	n := m.graphs[len(m.graphs)-1]
	if err := m.prepareForGraphs(ctx); err != nil {
		return err
	}
	proxy, err := faults.Start(m.applierConfig, 1)
	if err != nil {
		return err
	}
	defer proxy.Close()
	j, err := m.graphsJob(ctx, applierContestant, n)
	if err != nil {
		return err
	}
	return m.withController(ctx, proxy, func(ctx context.Context, c *controller) error {
		if err := waitUntilQuiet(ctx, proxy); err != nil {
			return err
		}
		empty, err := c.memory(ctx)
		if err != nil {
			return err
		}
		if _, err := m.run(ctx, j); err != nil {
			return err
		}
		if err := waitUntilQuiet(ctx, proxy); err != nil {
			return err
		}
		proxy.Reset()
		cpuBefore := processCPU(c.Pid())
		if err := pause(ctx, m.idle); err != nil {
			return err
		}
		requests, cpu := total(countRequests(proxy)), processCPU(c.Pid())-cpuBefore
		full, err := c.memory(ctx)
		if err != nil {
			return err
		}
		m.reportIdle(n, requests, cpu, empty, full)
		return m.reportReaction(ctx, j)
	})
}

// reportIdle adds the figures of an applier with n graphs at rest; empty is the
// memory before the graphs were created and full the memory at the end. MB and KB
// are powers of ten here, as in the aims.
func (m *measurement) reportIdle(n, requests int, cpu time.Duration, empty, full memory) {
	objects := float64(objectsPerGraph * n)
	add := func(aim, name, format string, args ...any) {
		m.report.addFigure(figure{fmt.Sprintf("%d graphs: %s", n, name), fmt.Sprintf(format, args...), aim})
	}
	aim := fmt.Sprintf("≤ %.0f MB", (memoryAim+objects*memoryPerObject)/1e6)
	add("0", fmt.Sprintf("requests in %s of rest", m.idle), "%d", requests)
	add("≤ 0.1 s", fmt.Sprintf("CPU in %s of rest", m.idle), "%.2f s", cpu.Seconds())
	add(fmt.Sprintf("≤ %.0f MB", memoryAim/1e6), "memory before", "%.1f MB, program %.1f, heap %.1f", empty.rss/1e6, empty.file/1e6, empty.heap/1e6)
	add(aim, "memory at rest", "%.1f MB, program %.1f, heap %.1f", full.rss/1e6, full.file/1e6, full.heap/1e6)
	add(aim, "peak memory", "%.1f MB, heap %.1f", full.peak/1e6, full.heapPeak/1e6)
	add(fmt.Sprintf("≤ %.0f KB", memoryPerObject/1e3), "memory per managed object",
		"%.2f KB, heap %.2f", (full.rss-empty.rss)/objects/1e3, (full.heap-empty.heap)/objects/1e3)
}

// waitUntilQuiet waits until no request went through the proxy for quietTime.
// Watches that are open do not count, but a watch that is opened does.
func waitUntilQuiet(ctx context.Context, proxy *faults.Proxy) error {
	last, since := -1, time.Now()
	return poll(ctx, func() (bool, error) {
		if sum := total(countRequests(proxy)); sum != last {
			last, since = sum, time.Now()
		}
		return time.Since(since) > quietTime, nil
	})
}
