package chaos

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// Outage takes the API server away from the program for longer than a lease lasts, or for a
// minute if the tests run for long. The program then cannot know whether it still leads, and
// exits, as programs of controller-runtime do. The process that Kubernetes starts in its place
// is live but not ready, and completes the pending work when the server is back. At the end,
// everything is deleted.
func (s Subject) Outage(t *testing.T) {
	t.Helper()
	proxy := s.Cluster.Proxy(t, s.Seed)
	p := s.start(t, proxy)
	p.Ready(t)
	for range 30 {
		s.Changes.Step()
	}
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	away := time.Now().Add(15 * time.Second)
	if Soaks() {
		away = time.Now().Add(time.Minute)
	}
	lost(t, p)
	p = s.start(t, proxy)
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, _, err := process.Get(ctx, "http://"+p.Probes+"/healthz", "")
		return err
	})
	for seen := 0; seen < 3 || time.Now().Before(away); seen++ {
		s.Changes.Step()
		notReady(t, p, "api-server")
		time.Sleep(100 * time.Millisecond)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	p.Ready(t)
	s.Changes.Settled()
	s.Changes.Drain()
	Kill(t, p)
}

// notReady fails the test unless a process is live, and not ready because of a check.
func notReady(t *testing.T, p *process.Process, check string) {
	t.Helper()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError} {
		code, body, err := process.Get(t.Context(), "http://"+p.Probes+path, "")
		if err != nil {
			t.Fatal(err)
		}
		if code != want || want != http.StatusOK && !strings.Contains(body, "[-]"+check+" failed") {
			t.Errorf("%s: %d; want %d, and that %s failed: %s", path, code, want, check, body)
		}
	}
}
