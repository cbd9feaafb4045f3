package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
)

// TestMonitorLoad measures what 1,000 Monitors at an interval of 30 s take. Memory doesn't grow from
// the third to the last minute.
func TestMonitorLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := newEnv(t)
	e.rights(t, readPods)
	a := app.Start(t)
	e.pod(t, "web", a, "")
	p := e.watch(t)
	const count = 1000
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, `
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: m%d}
spec:
  serviceAccountName: watcher
  target: {pods: {selector: {matchLabels: {app: my-app}}, port: %d}}
  probe: {graphql: {path: "/graphql?m%d", query: %q}}
  state: data.application
  rules: [{name: ill, when: state.health == "unhealthy"}]
---`, i, app.Port(), i, query)
	}
	e.Apply(t, strings.TrimSuffix(all.String(), "---"))
	harness.Eventually(t, 5*time.Minute, func(context.Context) error {
		if n := len(a.PollsOf(fmt.Sprint("m", count-1))); n < 3 {
			return fmt.Errorf("the last Monitor was polled %d times", n)
		}
		return nil
	})
	took := func() (memory int, cpu float64) {
		t.Helper()
		process, err := procfs.NewProc(p.Cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		stat, err := process.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return stat.ResidentMemory(), stat.CPUTime()
	}
	before, cpu := took()
	polls := len(a.Polls())
	const minutes = 3
	time.Sleep(minutes * time.Minute)
	after, end := took()
	n := len(a.Polls()) - polls
	t.Logf("%d Monitors, %d polls in %d minutes: %.1f %% of a core, %.2f ms a poll, %d MB, before %d MB",
		count, n, minutes, (end-cpu)/(60*minutes)*100, (end-cpu)/float64(n)*1000, after>>20, before>>20)
	if after > before*12/10 {
		t.Errorf("the memory has grown from %d to %d bytes", before, after)
	}
	if want := count * minutes * 2 * 9 / 10; n < want {
		t.Errorf("%d polls, want %d", n, want)
	}
}
