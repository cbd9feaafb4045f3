package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// alone are the arguments of a program that is the only replica.
var alone = []string{"--leader-elect=false", "--leader-election-namespace="}

// Killed kills the program with SIGKILL a number of times, after a random number of its writes,
// while changes are made, which goes on until it is started again. At the end, a start without
// changes must make no write, and everything is deleted.
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
	p := s.start(t, proxy, alone...)
	s.Changes.Settled()
	Kill(t, p)
	s.unchanged(t, proxy)
	s.Changes.Drain()
	t.Logf("%d kills, %d of them midway; changes: %v", kills, midway, s.Changes.Counts())
}

// unchanged starts a process and fails the test if it writes anything, because nothing is to be
// done.
func (s Subject) unchanged(t *testing.T, proxy *faults.Proxy) {
	t.Helper()
	proxy.Reset()
	p := s.start(t, proxy, alone...)
	if s.Looked == nil {
		return
	}
	p.Ready(t)
	harness.Eventually(t, time.Minute, func(ctx context.Context) error { return s.Looked(ctx, p) })
	for _, r := range writes(proxy) {
		t.Errorf("nothing has changed, and yet: %s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name)
	}
}
