package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/harness"
)

// alone are the arguments of a program that is the only replica.
var alone = []string{"--leader-elect=false", "--leader-election-namespace="}

// Killed kills the program with SIGKILL a number of times, after a random number of its writes,
// while changes are made, which goes on until it is started again. At the end, everything is
// deleted.
func (s Subject) Killed(t *testing.T, kills int) {
	t.Helper()
	random := rand.New(rand.NewPCG(s.Seed, 1))
	proxy := s.Cluster.Proxy(t, s.Seed)
	midway := 0
	for range kills {
		proxy.Reset()
		p := s.start(t, proxy, alone...)
		// The work that is pending when it starts takes some fifty writes.
		after := random.IntN(80)
		harness.Eventually(t, time.Minute, func(context.Context) error {
			s.Changes.Step()
			if n := len(writes(proxy)); n < after {
				return fmt.Errorf("%d writes; want %d", n, after)
			}
			return nil
		})
		if random.IntN(3) == 0 {
			s.Changes.Settled()
		} else {
			midway++
		}
		Kill(t, p)
		for range random.IntN(5) {
			s.Changes.Step()
		}
	}
	s.start(t, proxy, alone...)
	s.Changes.Settled()
	s.Changes.Drain()
	t.Logf("%d kills, %d of them midway; changes: %v", kills, midway, s.Changes.Counts())
}
