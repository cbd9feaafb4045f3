package chaos

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
)

// failures are the ways in which requests fail.
var failures = []faults.Fault{
	faults.Status{Code: 500}, faults.Status{Code: 429}, faults.Status{Code: 429, RetryAfter: time.Second},
	faults.Status{Code: 409}, faults.Timeout{After: 100 * time.Millisecond}, faults.Drop{}, faults.Cut{}, faults.Cut{After: 20},
}

// Faults lets a fifth of the program's requests fail, and watches break off, while changes are
// made. The program must reach the desired state even so. If the tests run for long, requests
// go unanswered, too. At the end, everything is deleted.
func (s Subject) Faults(t *testing.T, steps int) {
	t.Helper()
	proxy := s.Cluster.Proxy(t, s.Seed)
	p := s.start(t, proxy, alone...)
	p.Ready(t)
	rules := []faults.Rule{
		{Verbs: []string{"watch"}, Rate: 0.5, Faults: []faults.Fault{faults.Cut{After: 20_000}}},
		{Rate: 0.2, Faults: failures},
	}
	if Soaks() {
		rules = append(rules, faults.Rule{Verbs: []string{"patch", "apply", "delete"}, Rate: 0.002, Faults: []faults.Fault{faults.Hang{}}})
	}
	proxy.Inject(rules...)
	// A quick program may have sent too few requests for each kind of fault.
	missing := func() bool { return len(proxy.Faults()) <= len(failures) }
	for step, end := 0, time.Now().Add(time.Minute); step < steps || missing() && time.Now().Before(end); step++ {
		s.Changes.Step()
		time.Sleep(20 * time.Millisecond)
	}
	s.Changes.Settled()
	injected := proxy.Faults()
	proxy.Inject()
	s.Changes.Drain()
	Kill(t, p)
	t.Logf("faults: %v; changes: %v", injected, s.Changes.Counts())
	if len(injected) <= len(failures) {
		t.Error("some faults didn't happen")
	}
}
