package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// standing measures an applier whose graphs are there and ready.
func (m *measurement) standing(ctx context.Context, asked map[string]bool) error {
	s := &standing{measurement: m, graphs: m.graphs[len(m.graphs)-1]}
	err := m.warm(ctx)
	if err != nil {
		return err
	}
	if s.proxy, err = faults.Start(m.as, 1); err != nil {
		return err
	}
	defer s.proxy.Close()
	if s.namespace, err = m.tenant(ctx, "standing"); err != nil {
		return err
	}
	if err := s.with(ctx, s.proxy, func(c *controller) error { return s.fill(ctx, c, asked["idle"]) }); err != nil {
		return err
	}
	if asked["reconciles"] {
		if err := s.restarts(ctx); err != nil {
			return err
		}
		if err := s.with(ctx, nil, func(c *controller) error { return s.sightings(ctx, c) }); err != nil {
			return err
		}
	}
	if !asked["reactions"] {
		return nil
	}
	return s.with(ctx, nil, func(c *controller) error {
		if err := s.settled(ctx, c); err != nil {
			return err
		}
		if err := s.readiness(ctx); err != nil {
			return err
		}
		return s.drift(ctx)
	})
}

// standing are graphs that exist and are ready, in one namespace.
type standing struct {
	*measurement
	graphs    int
	namespace string
	proxy     *faults.Proxy
}

// label names what is measured of the standing graphs.
func (s *standing) label(format string, args ...any) string {
	return loadOf(s.graphs) + ": " + fmt.Sprintf(format, args...)
}

// settled waits until an applier has gone through all graphs.
func (s *standing) settled(ctx context.Context, c *controller) error {
	return poll(ctx, func() (bool, error) {
		metrics, err := c.scrape(ctx, executed)
		return err == nil && metrics.sum(executed+"_count") >= float64(s.graphs), err
	})
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
