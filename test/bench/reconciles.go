package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metrics of reconciliations.
const (
	reconciled = "pequod_reconcile_total"
	reconcile  = "pequod_reconcile_duration_seconds"
	executed   = "pequod_dag_execution_duration_seconds"
)

// restarts measures how fast an applier that has just become the leader finds
// that all graphs are as they should be. The first time counts requests.
func (s *standing) restarts(ctx context.Context) error {
	s.proxy.Reset()
	if err := s.with(ctx, s.proxy, func(c *controller) error {
		if err := s.settled(ctx, c); err != nil {
			return err
		}
		return s.quiet(ctx)
	}); err != nil {
		return err
	}
	s.figure(s.label("requests after a restart"), requests(counted(s.proxy), s.graphs, "graph"), "")
	var rates, cpus []float64
	var quantiles string
	for range s.graphRounds {
		if err := s.with(ctx, nil, func(c *controller) error {
			began := time.Now()
			before, err := c.scrape(ctx, executed)
			if err != nil {
				return err
			}
			if err := s.settled(ctx, c); err != nil {
				return err
			}
			rates = append(rates, (float64(s.graphs)-before.sum(executed+"_count"))/time.Since(began).Seconds())
			cpus = append(cpus, c.cpu().Seconds())
			metrics, err := c.scrape(ctx, reconcile)
			quantiles = metrics.quantiles(reconcile, nil)
			return err
		}); err != nil {
			return err
		}
	}
	slices.Sort(rates)
	slices.Sort(cpus)
	s.figure(s.label("found unchanged after a restart"),
		fmt.Sprintf("%.0f/s (%.0f–%.0f), %.2f s of CPU with the start", median(rates), rates[0], rates[len(rates)-1], median(cpus)), "≥ 1000/s")
	s.figure(s.label("each reconciliation after a restart"), quantiles, "< 100 ms")
	return nil
}

// sightings measures how fast graphs are reconciled to which nothing is to be
// done: as many others read one object, and it changes in a way that matters to
// none of them.
func (s *standing) sightings(ctx context.Context, c *controller) error {
	const writes = 30
	if err := s.settled(ctx, c); err != nil {
		return err
	}
	namespace, err := s.tenant(ctx, "reading")
	if err != nil {
		return err
	}
	shared := newObject(configMaps, namespace, "shared", map[string]any{})
	readers, err := s.readers(namespace)
	if err != nil {
		return err
	}
	f, err := newFloor(s.config, [][]object{{shared}, readers}, namespace)
	if err != nil {
		return err
	}
	if err := f.apply(ctx); err != nil {
		return err
	}
	if err := pause(ctx, rested); err != nil {
		return err
	}
	first, err := c.scrape(ctx, reconciled, reconcile)
	if err != nil {
		return err
	}
	last, cpu, took := first, time.Duration(0), time.Duration(0)
	for i := range writes {
		before, began := c.cpu(), time.Now()
		patch := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"example.com/count":"%d"}}}`, i)
		if err := f.send(ctx, http.MethodPatch, f.kinds[configMaps]+"/shared?fieldManager=somebody", []byte(patch)); err != nil {
			return err
		}
		next := last.sum(reconciled) + float64(s.graphs)
		if err := poll(ctx, func() (bool, error) {
			last, err = c.scrape(ctx, reconciled, reconcile)
			return err == nil && last.sum(reconciled) >= next, err
		}); err != nil {
			return err
		}
		took, cpu = took+time.Since(began), cpu+c.cpu()-before
	}
	count := last.sum(reconciled) - first.sum(reconciled)
	s.figure(s.label("reconciled without a change"),
		fmt.Sprintf("%.0f/s, %.0f µs of CPU each", count/took.Seconds(), cpu.Seconds()/count*1e6), "≥ 1000/s")
	s.figure(s.label("each reconciliation without a change"), last.quantiles(reconcile, first), "< 100 ms")
	return nil
}

// readers are graphs of one node, which is an object of somebody else.
func (s *standing) readers(namespace string) ([]object, error) {
	var graphs []object
	for i := range s.graphs {
		g, err := newGraph(namespace, fmt.Sprintf("reader-%d", i), []any{map[string]any{
			"id": "shared", "externalRef": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "shared"},
		}})
		if err != nil {
			return nil, err
		}
		graphs = append(graphs, g)
	}
	return graphs, nil
}

// quantiles says below which bounds of a histogram half and 99 % of what was
// counted since then are.
func (s series) quantiles(histogram string, since series) string {
	counts := map[float64]float64{} // by bound
	for name, value := range s {
		if labels, ok := strings.CutPrefix(name, histogram+"_bucket{"); ok {
			_, le, _ := strings.Cut(labels, `le="`)
			bound, err := strconv.ParseFloat(strings.TrimRight(le, `"}`), 64)
			if err == nil {
				counts[bound] += value - since[name]
			}
		}
	}
	var bounds []float64
	for bound := range counts {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	text := []string{}
	for _, q := range []float64{0.5, 0.99, 1} {
		for _, bound := range bounds {
			if counts[bound] >= q*counts[math.Inf(1)] {
				text = append(text, fmt.Sprintf("%g %% ≤ %g ms", 100*q, 1e3*bound))
				break
			}
		}
	}
	return strings.Join(text, ", ")
}
