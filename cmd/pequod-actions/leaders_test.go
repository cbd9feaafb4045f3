package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// replica is one of two processes, with its own way to the API server.
type replica struct {
	*process.Process
	proxy *faults.Proxy
}

// TestLeaderChanges has two replicas, and ends the leader while a run is in progress, with SIGTERM and
// with SIGKILL, and with SIGKILL before the server has answered. The other replica goes on with the run,
// and the server counts one. It writes nothing as long as there is another leader.
func TestLeaderChanges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	account := e.as
	begin := func() replica {
		proxy := e.Proxy(t, 1)
		e.as = proxy.Config(rest.CopyConfig(account))
		r := replica{e.run(t), proxy}
		r.Ready(t)
		return r
	}
	actions := func(r replica) int {
		return r.proxy.Count(func(q faults.Request) bool { return q.Write() && strings.HasPrefix(q.Resource, "actions.") })
	}
	leader := begin()
	running := func(status map[string]any) error {
		if state, _, _ := unstructured.NestedString(status, "run", "state"); state != "Running" {
			return fmt.Errorf("status: %v", status)
		}
		return nil
	}
	e.action(t, "first", "0", "")
	e.status(t, "first", reason("RunSucceeded"))
	const endless = 1 << 30
	for i, end := range []struct {
		name string
		// answered is set if the leader ends after the server has answered.
		answered bool
		of       func(p *process.Process)
	}{
		{"asked", true, func(p *process.Process) {
			if code := p.Stop(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		}},
		{"killed", true, func(p *process.Process) { chaos.Kill(t, p) }},
		{"unanswered", false, func(p *process.Process) { <-p.Done }},
	} {
		next := begin()
		p := leader.Process
		e.host.set(func() {
			e.host.polls, e.host.after = endless, func() {}
			if !end.answered {
				e.host.after = func() { _ = p.Cmd.Process.Kill() } // it runs
			}
		})
		e.action(t, end.name, fmt.Sprint(i+1), "")
		if end.answered {
			e.status(t, end.name, running)
		}
		harness.Eventually(t, patience, func(context.Context) error {
			if runs, _, _ := e.host.counts(); runs != i+2 {
				return fmt.Errorf("%d runs", runs)
			}
			return nil
		})
		if n := actions(next); n > 0 {
			t.Errorf("%s: %d writes beside the leader", end.name, n)
		}
		end.of(p)
		e.host.set(func() {
			e.host.after = func() {}
			for key := range e.host.open {
				e.host.open[key] = min(e.host.open[key], 1)
			}
		})
		e.status(t, end.name, reason("RunSucceeded"))
		if actions(next) == 0 {
			t.Errorf("%s: another process has led", end.name)
		}
		leader = next
	}
	if runs, posts, _ := e.host.counts(); runs != 4 || posts != 5 || e.host.most != 1 {
		t.Errorf("%d runs with %d requests, %d at once", runs, posts, e.host.most)
	}
}
