package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// replica is one of several processes, with its own way to the API server.
type replica struct {
	*process.Process
	proxy *faults.Proxy
}

// Leaders stops the leader of two replicas: with SIGTERM, with SIGKILL and, if the tests run
// for long, by cutting its connection to the API server. The other replica must take over, and
// never before the first one has stopped writing. This is repeated for a number of rounds. At
// the end, everything is deleted.
func (s Subject) Leaders(t *testing.T, rounds int) {
	t.Helper()
	var all []replica
	begin := func() replica {
		proxy := s.Cluster.Proxy(t, s.Seed)
		r := replica{s.start(t, proxy), proxy}
		all = append(all, r)
		return r
	}
	ends := []struct {
		name string
		of   func(replica)
	}{
		{"asked", func(r replica) {
			if code := r.Stop(t); code != 0 {
				t.Errorf("asked to end, it ended with exit code %d", code)
			}
		}},
		{"killed", func(r replica) { Kill(t, r.Process) }},
		{"cut off", func(r replica) {
			if err := r.proxy.Down(); err != nil {
				t.Fatal(err)
			}
			lost(t, r.Process)
		}},
	}
	if !Soaks() {
		ends = ends[:2] // Outage makes one lose its lease
	}
	leader := begin()
	s.leads(t, leader)
	for range rounds {
		for _, end := range ends {
			next := begin()
			next.Ready(t)
			s.leads(t, leader)
			if n := len(writes(next.proxy)); n > 0 {
				t.Fatalf("%d writes beside the leader", n)
			}
			end.of(leader)
			s.leads(t, next)
			s.Changes.Settled()
			if leader = next; t.Failed() {
				t.Fatalf("leader %s", end.name)
			}
		}
	}
	s.Changes.Drain()
	Kill(t, leader.Process)
	oneByOne(t, all)
	t.Logf("%d changes of the leader; changes: %v", rounds*len(ends), s.Changes.Counts())
}

// leads makes changes until a replica has made some more writes.
func (s Subject) leads(t *testing.T, r replica) {
	t.Helper()
	before := len(writes(r.proxy))
	harness.Eventually(t, time.Minute, func(context.Context) error {
		s.Changes.Step()
		if len(writes(r.proxy)) < before+20 {
			return errors.New("it doesn't lead")
		}
		return nil
	})
}

// oneByOne fails the test unless each replica made its writes after those of the replicas
// before it.
func oneByOne(t *testing.T, all []replica) {
	t.Helper()
	var last faults.Request
	for i, r := range all {
		did := writes(r.proxy)
		if len(did) == 0 {
			t.Fatalf("replica %d did nothing", i)
		}
		if first := did[0]; !first.Time.After(last.Time) {
			t.Errorf("replica %d: %s %s %s at %s; the one before it %s %s %s at %s", i,
				first.Verb, first.Resource, first.Name, first.Time, last.Verb, last.Resource, last.Name, last.Time)
		}
		last = did[len(did)-1]
	}
}
