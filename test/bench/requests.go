package main

import "github.com/pequod-io/pequod/test/faults"

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

// total sums counts over all verbs.
func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
