package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/postgres"
	"github.com/pequod-io/pequod/test/process"
)

// TestHistoryLoad measures how long Actions take without a history, with PostgreSQL, without it because
// it is away, and while it takes connections and doesn't answer. The history delays no Action.
func TestHistoryLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	server := postgres.Start(t)
	e := newEnv(t)
	process.Pequod(t, e.Cluster, 0, "install", "--crds-only")
	role, err := os.ReadFile("../../config/actions/components/history/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(t, string(role))
	const count = 300
	took := map[string]time.Duration{}
	stored := []string{"--history-url-file=" + server.URLFile}
	for i, mode := range []struct {
		name  string
		args  []string
		begin func()
	}{
		{"warm", nil, func() {}}, // the first Actions fill caches
		{"none", nil, func() {}},
		{"stored", stored, func() {}},
		{"hangs", stored, func() { server.Pause() }},
		{"away", stored, server.Kill},
	} {
		mode.begin()
		p := e.run(t, append(withoutLease, mode.args...)...)
		p.Ready(t)
		began := time.Now()
		for j := range count {
			e.action(t, fmt.Sprintf("a%d-%d", i, j), fmt.Sprint(j), "")
		}
		e.succeeded(t, (i+1)*count)
		took[mode.name] = time.Since(began)
		_, cpu := usage(t, p)
		t.Logf("%s: %d Actions in %s, %.1f s of a core", mode.name, count, took[mode.name].Round(10*time.Millisecond), cpu)
		chaos.Kill(t, p)
	}
	for _, mode := range []string{"stored", "hangs", "away"} {
		if took[mode] > took["none"]*3/2 {
			t.Errorf("%s: %s, without a history %s", mode, took[mode], took["none"])
		}
	}
}
