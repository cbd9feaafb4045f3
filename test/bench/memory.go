package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is what a process takes, in bytes.
type memory struct {
	rss, peak float64 // as the system counts it
	heap      float64 // what lives, and was found to by the collector
	heapPeak  float64 // the largest that the heap ever was
}

// MiB is a mebibyte.
const MiB = 1 << 20

// memory is what the applier takes. First it is read what the system says, which
// reading the rest changes.
func (c *controller) memory(ctx context.Context) (memory, error) {
	mem := processMemory(c.cmd.Process.Pid)
	s, err := c.collected(ctx)
	if err != nil {
		return memory{}, err
	}
	mem.heap, mem.heapPeak = s.sum("go_gc_heap_live_bytes"), s.sum("go_memstats_heap_sys_bytes")
	return mem, nil
}

// collected reads the metrics when the collector has run twice since it was
// asked to: reading makes the garbage that has it run.
func (c *controller) collected(ctx context.Context) (series, error) {
	names := []string{"go_gc_heap_live_bytes", "go_memstats_heap_sys_bytes", "go_gc_cycles_total_gc_cycles_total"}
	var s series
	first := -1.0
	err := poll(ctx, func() (bool, error) {
		var err error
		if s, err = c.scrape(ctx, names...); err != nil {
			return false, err
		}
		cycles := s.sum(names[2])
		if first < 0 {
			first = cycles
		}
		return cycles >= first+2, nil
	})
	return s, err
}

// processMemory is what the system says of a process; nothing where there is no
// /proc.
func processMemory(pid int) memory {
	var mem memory
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return mem
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		kib, err := strconv.ParseFloat(fields[1], 64)
		switch {
		case err != nil:
		case fields[0] == "VmRSS:":
			mem.rss = kib * 1024
		case fields[0] == "VmHWM:":
			mem.peak = kib * 1024
		}
	}
	return mem
}
