package main

import (
	"context"
	"fmt"
	"time"
)

// Aims of the design, in bytes.
const (
	aimMemory = 60e6
	aimObject = 2e3
)

// rested is how long nothing must have been asked for before an applier counts
// as idle.
const rested = 5 * time.Second

// fill creates the graphs. If it is asked for, it then looks what the applier
// takes while there is nothing to do, and how much more memory that is than
// before.
func (s *standing) fill(ctx context.Context, c *controller, measured bool) error {
	if err := s.quiet(ctx); err != nil {
		return err
	}
	empty, err := c.memory(ctx)
	if err != nil {
		return err
	}
	j := job{who: byApplier, load: many, graphs: s.graphs, verb: create, namespace: s.namespace, kubeconfig: s.kubeconfig}
	if _, err := s.runBeside(ctx, c, j); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil || !measured {
		return err
	}
	s.proxy.Reset()
	before := c.cpu()
	if err := pause(ctx, s.idle); err != nil {
		return err
	}
	requests, cpu := counted(s.proxy), c.cpu()-before
	full, err := c.memory(ctx)
	if err != nil {
		return err
	}
	s.idleFigures(requests, cpu, empty, full)
	return nil
}

func (s *standing) idleFigures(requests map[string]int, cpu time.Duration, empty, full memory) {
	objects := float64(objectsEach * s.graphs)
	most := fmt.Sprintf("≤ %.0f MB", (aimMemory+objects*aimObject)/1e6)
	sum := 0
	for _, n := range requests {
		sum += n
	}
	s.figure(s.label("requests in %s of rest", s.idle), fmt.Sprint(sum), "0")
	s.figure(s.label("CPU in %s of rest", s.idle), fmt.Sprintf("%.2f s", cpu.Seconds()), "< 0.1 s (of 100 graphs)")
	s.figure("memory without graphs", fmt.Sprintf("%.1f MB, heap %.1f", empty.rss/1e6, empty.heap/1e6), fmt.Sprintf("≤ %.0f MB", aimMemory/1e6))
	s.figure(s.label("memory at rest"), fmt.Sprintf("%.1f MB, heap %.1f", full.rss/1e6, full.heap/1e6), most)
	s.figure(s.label("memory at most"), fmt.Sprintf("%.1f MB, heap %.1f", full.peak/1e6, full.heapPeak/1e6), most)
	s.figure(s.label("memory for each managed object"),
		fmt.Sprintf("%.2f KB, heap %.2f", (full.rss-empty.rss)/objects/1e3, (full.heap-empty.heap)/objects/1e3), fmt.Sprintf("≤ %.0f KB", aimObject/1e3))
}

// quiet waits until the applier asks for nothing any more.
func (s *standing) quiet(ctx context.Context) error {
	last, since := -1, time.Now()
	return poll(ctx, func() (bool, error) {
		sum := 0
		for _, n := range counted(s.proxy) {
			sum += n
		}
		if sum != last {
			last, since = sum, time.Now()
		}
		return time.Since(since) > rested, nil
	})
}
