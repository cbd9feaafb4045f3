package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of CPU times in /proc, which is the same on every Linux
// that Go runs on.
const tick = 10 * time.Millisecond

// processCPU is how long a process has been on a CPU, 0 where there is no /proc:
// on a machine that others use too, it says more than the clock does.
func processCPU(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is a name in brackets; user and system time are the
	// fields 14 and 15 of proc(5).
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
