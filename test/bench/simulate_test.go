package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSimulate compares simulations with the time that the work takes if no core ever waits.
func TestSimulate(t *testing.T) {
	costs := graphCosts{requests: 6, cpu: 60 * time.Millisecond}
	for _, test := range []struct{ graphs, cores int }{{20_000, 1}, {20_000, 8}, {100_000, 32}} {
		got := simulate(costs, test.graphs, test.cores, rand.New(rand.NewPCG(1, 2)))
		want := time.Duration(test.graphs) * costs.cpu / time.Duration(test.cores)
		if ratio := float64(got.took) / float64(want); ratio < 0.98 || ratio > 1.05 {
			t.Errorf("%d graphs, %d cores: %s, want about %s", test.graphs, test.cores, got.took, want)
		}
		// With more requests in flight than cores, a correction waits for the others.
		wait := time.Duration(inFlight) * costs.cpu / 6 / time.Duration(test.cores)
		if half := got.drift[len(got.drift)/2]; half < wait/2 || half > 2*wait {
			t.Errorf("%d graphs, %d cores: half of the corrections took %s, want about %s", test.graphs, test.cores, half, wait)
		}
	}
	if got := simulate(costs, 10, 32, rand.New(rand.NewPCG(1, 2))); got.took > time.Second {
		t.Errorf("10 graphs took %s", got.took)
	}
}
