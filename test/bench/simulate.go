package main

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The simulated numbers of graphs, and the cores of the simulated control planes.
var (
	simulatedGraphs = []int{10_000, 20_000, 50_000, 100_000, 200_000}
	simulatedCores  = []int{2, 8, 32}
)

// storeQuota is the largest size of etcd's store that its documentation suggests
// (https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit).
const storeQuota = 8 << 30

// inFlight is the number of requests that an applier with the default flags has in flight.
const inFlight = 44

// correctionsPerDay is how often each graph drifts in a simulation.
const correctionsPerDay = 1

// graphCosts are the costs of one more graph.
type graphCosts struct {
	requests      float64       // of the applier until it is ready
	cpu           time.Duration // of the control plane for these
	memory, store float64       // of the control plane, in bytes
}

// costsBetween returns the costs of a graph from two points of one measurement.
func costsBetween(a, b *scalePoint) graphCosts {
	added := float64(b.added)
	return graphCosts{
		requests: float64(total(b.requests)-b.requests[discovery]) / added,
		cpu:      time.Duration(float64(b.serverCPU) / added),
		memory:   (b.server.peak - a.server.peak) / added,
		store:    (b.store - a.store) / added,
	}
}

// rollout is the result of a simulation.
type rollout struct {
	took  time.Duration // until all graphs were executed
	drift durations     // latencies of the corrections meanwhile
}

// request is a request that a core of the simulated control plane serves.
type request struct {
	ends  time.Duration // on the simulated clock
	began time.Duration // when it was sent
	left  int           // requests that its graph sends after it; negative for a correction
}

// queue orders requests by their ends.
type queue []request

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, k int) bool { return q[i].ends < q[k].ends }
func (q queue) Swap(i, k int)      { q[i], q[k] = q[k], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(request)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// simulate executes n graphs that all change at once, as when the module of their platform does, on
// a control plane with some cores and nothing else to do. It is a queue with as many servers as
// cores, in the order of arrival. An applier has inFlight graphs in work, each of which sends one
// request after the other; the time of a request is distributed exponentially around the measured
// mean. Objects drift at random meanwhile, and a correction is one more request.
func simulate(c graphCosts, n, cores int, random *rand.Rand) rollout {
	perGraph := max(int(c.requests+0.5), 1)
	mean := float64(c.cpu) / float64(perGraph)
	pause := float64(24*time.Hour) / correctionsPerDay / float64(n)
	var served queue
	var waiting []request
	var result rollout
	var now time.Duration
	drift := time.Duration(random.ExpFloat64() * pause)
	send := func(r request) {
		r.began = now
		waiting = append(waiting, r)
	}
	graphs := min(n, inFlight)
	for range graphs {
		send(request{left: perGraph - 1})
	}
	for {
		for len(served) < cores && len(waiting) > 0 {
			r := waiting[0]
			waiting = waiting[1:]
			r.ends = now + time.Duration(random.ExpFloat64()*mean)
			heap.Push(&served, r)
		}
		if len(served) == 0 {
			break
		}
		if drift < served[0].ends {
			now = drift
			drift += time.Duration(random.ExpFloat64() * pause)
			send(request{left: -1})
			continue
		}
		r := heap.Pop(&served).(request)
		now = r.ends
		switch {
		case r.left < 0:
			result.drift = append(result.drift, now-r.began)
		case r.left > 0:
			send(request{left: r.left - 1})
		case graphs < n:
			graphs++
			send(request{left: perGraph - 1})
		default:
			result.took = now
		}
	}
	slices.Sort(result.drift)
	return result
}

// reportSimulation adds the figures of simulations with the costs between two points.
func (m *measurement) reportSimulation(a, b *scalePoint) {
	c := costsBetween(a, b)
	add := func(name, format string, args ...any) {
		m.report.addFigure(figure{name, fmt.Sprintf(format, args...), ""})
	}
	add("one more graph", "%.1f requests, %.0f ms of CPU, %.0f KB of memory and %.1f KB of the store of the control plane",
		c.requests, float64(c.cpu.Microseconds())/1e3, c.memory/1e3, c.store/1e3)
	add("the store has 8 GiB", "at %.0f graphs", float64(b.graphs)+(storeQuota-b.store)/c.store)
	for _, gigabytes := range []float64{16, 64, 256} {
		add(fmt.Sprintf("the control plane needs %.0f GB of memory", gigabytes), "at %.0f graphs", float64(b.graphs)+(gigabytes*1e9-b.server.peak)/c.memory)
	}
	for _, cores := range simulatedCores {
		random := rand.New(rand.NewPCG(1, uint64(cores)))
		check := simulate(c, b.added, cores, random)
		add(fmt.Sprintf("simulated: %d graphs change, %d cores", b.added, cores), "%s", check.took.Round(100*time.Millisecond))
		for _, n := range simulatedGraphs {
			r := simulate(c, n, cores, random)
			drift := "no drift"
			if len(r.drift) > 0 {
				drift = "drift corrected " + r.drift.String()
			}
			add(fmt.Sprintf("simulated: %d graphs change, %d cores", n, cores), "%s, %s", r.took.Round(time.Second), drift)
		}
	}
}
