package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/process"
)

// step is when a program is killed: from the record of a run that is to begin to the record of the
// run that has begun.
type step int

// The steps. Before intended and after begun, nothing is known or all of it.
const (
	intended  step = iota // the intent is stored, and the program doesn't know it
	requested             // the program has sent the request, and the server ignores it
	begun                 // the run has begun, and the server hasn't answered
	answered              // the server has answered, and the run isn't recorded
	recorded              // the run is recorded, and the program doesn't know it
	steps
)

// killer kills a program at a step of an Action, with a server that calls before and after when it
// begins a run. If before returns false, the server ignores the request.
type killer struct {
	proxy *faults.Proxy
	set   func(before func() bool, after func())
}

// kill has a program killed at a step of an Action that is then applied, and waits until it is dead.
func (k *killer) kill(t *testing.T, p *process.Process, at step, action string, apply func()) {
	t.Helper()
	var asked atomic.Bool // the server got the request
	before, after := func() bool { asked.Store(true); return true }, func() {}
	write := faults.Rule{Verbs: []string{"patch"}, Resources: []string{"actions.platform.pequod.io/status"}, Names: []string{action}, Times: 1}
	switch at {
	case requested:
		before = func() bool { _ = p.Cmd.Process.Kill(); return false } // it runs
	case begun:
		after = func() { _ = p.Cmd.Process.Kill() } // it runs
	case intended:
		write.Faults = []faults.Fault{faults.Cut{}}
	case answered:
		write.Skip, write.Faults = 1, []faults.Fault{faults.Hang{}}
	case recorded:
		write.Skip, write.Faults = 1, []faults.Fault{faults.Cut{}}
	}
	k.set(before, after)
	k.proxy.Reset()
	k.proxy.Inject(write)
	apply()
	if at != requested && at != begun {
		harness.Eventually(t, patience, func(context.Context) error {
			if len(k.proxy.Faults()) == 0 {
				return errors.New("the write has not been sent")
			}
			return nil
		})
		_ = p.Cmd.Process.Kill() // it runs
	}
	<-p.Done
	k.set(func() bool { return true }, func() {})
	k.proxy.Inject()
	if at == answered && !asked.Load() {
		t.Errorf("%s was killed before its request", action)
	}
}

// TestKilledOnce kills the program with -9 at each step between the intent and the record of a run.
// The server counts one run per Action.
func TestKilledOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	k := &killer{proxy: e.Proxy(t, 1), set: func(before func() bool, after func()) {
		e.host.set(func() { e.host.before, e.host.after = func() { before() }, after })
	}}
	e.as = k.proxy.Config(e.as)
	p := e.run(t, withoutLease...)
	rounds := chaos.Times(4, 6*int(steps))
	began := time.Now()
	for i := range rounds {
		e.host.set(func() { e.host.polls = i % 3 })
		name := fmt.Sprintf("a%d", i)
		k.kill(t, p, step(i)%steps, name, func() { e.action(t, name, fmt.Sprint(i), "") })
		p = e.run(t, withoutLease...)
		e.status(t, name, reason("RunSucceeded"))
	}
	runs, posts, _ := e.host.counts()
	if runs != rounds || posts <= rounds {
		t.Errorf("%d runs of %d Actions, with %d requests", runs, rounds, posts)
	}
	t.Logf("%d kills in %s, %d requests", rounds, time.Since(began).Round(time.Second), posts)
}

// TestWorkflowKilledOnce kills the program with -9 at each step between the intent and the record of a
// run of a workflow. GitHub counts one run per Action, with and without IDs in its answers.
func TestWorkflowKilledOnce(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]github.Mode{"details": github.Details, "none": github.NoDetails, "old": github.Old} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s, h := newGitHub(t, github.Options{Mode: mode, Prefix: "/api/v3", Foreign: 2, Unlisted: 1500 * time.Millisecond, Queued: 100 * time.Millisecond, Running: 300 * time.Millisecond})
			k := &killer{proxy: e.Proxy(t, 1), set: h.set}
			e.as = k.proxy.Config(e.as)
			p := e.run(t, withoutLease...)
			rounds := chaos.Times(11, int(steps))
			began := time.Now()
			for i := range rounds {
				action := fmt.Sprintf("a%d", i)
				k.kill(t, p, step(i)%steps, action, func() { e.workflow(t, s, action, "database.yaml", fmt.Sprint(i), "") })
				p = e.run(t, withoutLease...)
				e.status(t, action, reason("RunSucceeded"))
			}
			times := map[string]int{}
			for _, r := range s.Runs() {
				times[r.Inputs["size"]]++
			}
			for i := range rounds {
				if n := times[fmt.Sprint(i)]; n != 1 {
					t.Errorf("%d runs of a%d", n, i)
				}
			}
			t.Logf("%d kills in %s, %d runs", rounds, time.Since(began).Round(time.Second), len(s.Runs()))
		})
	}
}
