package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc, USER_HZ in proc(5). It is the same on
// every Linux that Go supports.
const tick = 10 * time.Millisecond

// mebibyte is 2^20 bytes.
const mebibyte = 1 << 20

// memory is the memory of a process, in bytes.
type memory struct {
	rss, peak float64 // resident set, now and at its largest
	heap      float64 // live heap, as the last garbage collection found it
	heapPeak  float64 // heap that the runtime got from the system
}

// processCPU returns the CPU time of a process so far, user and system time
// together, or 0 on systems without /proc. On a shared machine it is steadier
// than the wall clock.
func processCPU(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is a name in brackets, which may contain spaces. User and
	// system time are fields 14 and 15 of proc(5).
	rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(rest) < 13 {
		return 0
	}
	var sum time.Duration
	for _, field := range rest[11:13] {
		ticks, err := strconv.Atoi(string(field))
		if err != nil {
			return 0
		}
		sum += time.Duration(ticks) * tick
	}
	return sum
}

// processMemory returns the resident set of a process, now (VmRSS) and at its
// largest (VmHWM), or zeros on systems without /proc. Lines that cannot be parsed
// are skipped.
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
