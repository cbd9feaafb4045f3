package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The metrics of the Go runtime that the benchmark reads, in bytes and cycles.
const (
	heapLive   = "go_gc_heap_live_bytes"
	heapSystem = "go_memstats_heap_sys_bytes"
	gcCycles   = "go_gc_cycles_total_gc_cycles_total"
)

// series maps a time series, name and labels, to its value. A key is like
// `leader_election_master_status{name="pequod-applier"}`.
type series map[string]float64

// scrape reads the metrics with the given names from the controller, in the text
// format of Prometheus: a line is a series, a space and a value. The query
// parameter "name[]" makes the endpoint compute only these.
func (c *controller) scrape(ctx context.Context, names ...string) (series, error) {
	query := url.Values{"name[]": names}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.metrics+"/metrics?"+query, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s", response.Status)
	}
	all := series{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %s: %w", line, err)
		}
		all[line[:space]] = value
	}
	return all, lines.Err()
}

// sum adds up all series of a metric; 0 if there is none. A longer metric name
// with the same beginning is not counted.
func (s series) sum(name string) float64 {
	sum := 0.0
	for series, value := range s {
		if labels, ok := strings.CutPrefix(series, name); ok && (labels == "" || labels[0] == '{') {
			sum += value
		}
	}
	return sum
}

// memory returns the memory that the controller uses. The resident set is read
// first, because reading the metrics changes it.
func (c *controller) memory(ctx context.Context) (memory, error) {
	mem := processMemory(c.cmd.Process.Pid)
	s, err := c.scrapeAfterGC(ctx)
	if err != nil {
		return memory{}, err
	}
	mem.heap, mem.heapPeak = s.sum(heapLive), s.sum(heapSystem)
	return mem, nil
}

// scrapeAfterGC reads the heap metrics after two garbage collections, so that
// they show live objects only. Reading metrics produces the garbage that makes
// the collector run. One collection is not enough: it may have begun before the
// first reading.
func (c *controller) scrapeAfterGC(ctx context.Context) (series, error) {
	var s series
	first := -1.0
	err := poll(ctx, func() (bool, error) {
		var err error
		if s, err = c.scrape(ctx, heapLive, heapSystem, gcCycles); err != nil {
			return false, err
		}
		cycles := s.sum(gcCycles)
		if first < 0 {
			first = cycles
		}
		return cycles >= first+2, nil
	})
	return s, err
}
