package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/process"
)

// usage returns the memory of a process in bytes, and the time that it has used a core in seconds.
func usage(t *testing.T, p *process.Process) (memory int, cpu float64) {
	t.Helper()
	proc, err := procfs.NewProc(p.Cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return stat.ResidentMemory(), stat.CPUTime()
}

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
	before, cpu := usage(t, p)
	polls := len(a.Polls())
	const minutes = 3
	time.Sleep(minutes * time.Minute)
	after, end := usage(t, p)
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

// TestActionLoad measures what 1,000 Actions take: when they run, at rest, and when each of them is
// checked for drift every 30 s. Each runs once, and memory doesn't grow while they are checked.
func TestActionLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := newEnv(t)
	p := e.run(t)
	const count = 1000
	apply := func(more string) {
		t.Helper()
		var all strings.Builder
		for i := range count {
			fmt.Fprintf(&all, `
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: a%d}
spec:
  serviceAccountName: runner
  http: {url: %s/databases, body: {size: %d}}
  outputs: {endpoint: run.response.body.endpoint}
%s
---`, i, e.host.URL, i, more)
		}
		e.Apply(t, strings.TrimSuffix(all.String(), "---"))
	}
	_, cpu := usage(t, p)
	began := time.Now()
	apply("")
	e.succeeded(t, count)
	ran, end := usage(t, p)
	t.Logf("%d Actions have run %s after the first one was applied: %.1f ms of a core each, %d MB", count, time.Since(began).Round(time.Second), (end-cpu)/count*1000, ran>>20)
	_, cpu = usage(t, p)
	time.Sleep(time.Minute)
	_, end = usage(t, p)
	t.Logf("at rest: %.2f %% of a core", (end-cpu)/60*100)
	apply(fmt.Sprintf(`  check: {every: 30s, http: {url: %s/check, body: {check: true}}, driftWhen: "false"}`, e.host.URL))
	checks := func() int { _, posts, _ := e.host.counts(); return posts - count }
	harness.Eventually(t, 10*time.Minute, func(context.Context) error {
		if n := checks(); n < 3*count {
			return fmt.Errorf("%d checks", n)
		}
		return nil
	})
	before, cpu := usage(t, p)
	first := checks()
	const minutes = 3
	time.Sleep(minutes * time.Minute)
	after, end := usage(t, p)
	n := checks() - first
	t.Logf("%d checks in %d minutes: %.1f %% of a core, %.2f ms a check, %d MB, before %d MB", n, minutes, (end-cpu)/(60*minutes)*100, (end-cpu)/float64(n)*1000, after>>20, before>>20)
	if after > before*12/10 {
		t.Errorf("the memory has grown from %d to %d bytes", before, after)
	}
	// How many there are depends on the API server: a check is two writes. None may be left out for long.
	if want := count * minutes; n < want {
		t.Errorf("%d checks, want %d", n, want)
	}
	times := map[string]int{}
	e.host.set(func() {
		for _, body := range e.host.runs {
			if body != `{"check":true}` {
				times[body]++
			}
		}
	})
	if len(times) != count {
		t.Errorf("%d Actions have run", len(times))
	}
	for body, n := range times {
		if n != 1 {
			t.Errorf("%s ran %d times", body, n)
		}
	}
}

// succeeded waits until a number of Actions are ready.
func (e *env) succeeded(t *testing.T, count int) {
	t.Helper()
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	harness.Eventually(t, 10*time.Minute, func(ctx context.Context) error {
		list, err := actions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, a := range list.Items {
			if status, _, _ := unstructured.NestedMap(a.Object, "status"); reason("RunSucceeded")(status) == nil {
				ready++
			}
		}
		if ready < count {
			time.Sleep(200 * time.Millisecond) // a list is work for the API server
			return fmt.Errorf("%d Actions are ready", ready)
		}
		return nil
	})
}
