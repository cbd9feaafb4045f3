package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pequod-io/pequod/test/faults"
)

// mebibyte is 2^20 bytes.
const mebibyte = 1 << 20

// memory is the memory of a process, in bytes.
type memory struct {
	rss, peak float64 // resident set, now and at its largest
	file      float64 // part of rss that is the file of the program
	heap      float64 // live heap, as the last garbage collection found it
	heapPeak  float64 // heap that the runtime got from the system
}

// processCPU returns the CPU time of a process so far, user and system time
// together, or 0 on systems without /proc. On a shared machine it is steadier
// than the wall clock.
func processCPU(pid int) time.Duration {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	stat, err := process.Stat()
	if err != nil {
		return 0
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

// processMemory returns the resident set of a process, now and at its largest, or
// zeros on systems without /proc.
func processMemory(pid int) memory {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return memory{}
	}
	status, err := process.NewStatus()
	if err != nil {
		return memory{}
	}
	return memory{rss: float64(status.VmRSS), peak: float64(status.VmHWM), file: float64(status.RssFile)}
}

// discovery is the pseudo-verb under which discovery requests and probes are
// counted.
const discovery = "discovery"

// countRequests counts the requests that went through a proxy, by verb. Renewals
// of the leader election lease are left out: their number depends on the time
// only.
func countRequests(proxy *faults.Proxy) map[string]int {
	counts := map[string]int{}
	for _, r := range proxy.Requests() {
		switch {
		case r.Resource == "leases.coordination.k8s.io":
		case r.Discovery() || r.Resource == "/livez":
			counts[discovery]++
		default:
			counts[r.Verb]++
		}
	}
	return counts
}

// listRequests lists the requests that went through a proxy by verb and resource,
// the most frequent ones first: "100 patch resourcegraphs.platform.pequod.io/status".
func listRequests(proxy *faults.Proxy) string {
	counts := map[string]int{}
	for _, r := range proxy.Requests() {
		counts[r.Verb+" "+r.Resource]++
	}
	var b strings.Builder
	for _, request := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "%6d %s\n", counts[request], request)
	}
	return b.String()
}

// total sums counts over all verbs.
func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
