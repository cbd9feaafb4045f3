package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/postgres"
	"github.com/pequod-io/pequod/test/process"
)

// TestHistoryLoad measures how long Actions take without a history, with PostgreSQL, while it is
// away, and while it takes connections and doesn't answer. The history delays no Action. Other work of
// the machine does, so the shorter time of two rounds counts.
func TestHistoryLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	server := postgres.Start(t)
	e := newEnv(t)
	process.Pequod(t, e.Cluster, 0, "install", "--crds-only")
	e.Apply(t, process.Component(t, "../../config/actions/components/history/role.yaml"))
	const count, rounds = 150, 2
	best, cores := map[string]time.Duration{}, map[string]float64{}
	stored := []string{"--history-url-file=" + server.URLFile}
	total := 0
	for round := range rounds {
		for _, mode := range []struct {
			name       string
			args       []string
			begin, end func()
		}{
			{"none", nil, func() {}, func() {}},
			{"stored", stored, func() {}, func() {}},
			{"hangs", stored, server.Pause, server.Kill},
			{"away", stored, func() {}, server.Run},
		} {
			mode.begin()
			p := e.run(t, append(withoutLease, mode.args...)...)
			p.Ready(t)
			began := time.Now()
			for i := range count {
				e.action(t, fmt.Sprintf("%s-%d-%d", mode.name, round, i), fmt.Sprint(i), "")
			}
			total += count
			e.succeeded(t, total)
			took := time.Since(began)
			if before, ok := best[mode.name]; !ok || took < before {
				best[mode.name] = took
			}
			_, cpu := usage(t, p)
			if before, ok := cores[mode.name]; !ok || cpu < before {
				cores[mode.name] = cpu
			}
			t.Logf("%s: %d Actions in %s, %.1f s of a core", mode.name, count, took.Round(10*time.Millisecond), cpu)
			chaos.Kill(t, p)
			mode.end()
		}
	}
	for _, mode := range []string{"stored", "hangs", "away"} {
		if best[mode] > best["none"]*3/2 {
			t.Errorf("%s: %s, without a history %s", mode, best[mode], best["none"])
		}
		// While it is away, the database is asked once after each pause, not for each Action.
		if cores[mode] > cores["none"]*2 {
			t.Errorf("%s: %.1f s of a core, without a history %.1f s", mode, cores[mode], cores["none"])
		}
	}
}
