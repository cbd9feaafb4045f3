package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// TestEventLoad measures what the Events of Actions take that end at once, on one core, and their notifications. None of
// them is lost, also if the API server is busy and refuses a third of the requests: client-go sends each ten times more.
func TestEventLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := notifying(t)
	proxy, c := e.Proxy(t, 1), collect(t)
	e.as = proxy.Config(e.as)
	p := installed.Prepare(t, e.Cluster, e.as, append([]string{"--allow-egress=127.0.0.0/8,http://127.0.0.1", "--events-addr=" + c.URL}, withoutLease...)...)
	p.Cmd.Env = append(p.Cmd.Env, "GOMAXPROCS=1")
	p.Run(t)
	p.Ready(t)
	total := 0
	burst := func(mode string, count int) {
		t.Helper()
		var all strings.Builder
		for i := range count {
			fmt.Fprintf(&all, "---\n{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: %s-%d}, spec: {serviceAccountName: runner, http: {url: '%s/databases', body: %[2]d}}}\n", mode, i, e.host.URL)
		}
		signal(t, p, syscall.SIGSTOP)
		e.Apply(t, strings.TrimPrefix(all.String(), "---\n"))
		signal(t, p, syscall.SIGCONT)
		total += count
		_, cpu := usage(t, p)
		began := time.Now()
		e.succeeded(t, total)
		actions := time.Since(began)
		harness.Eventually(t, patience, func(ctx context.Context) error {
			time.Sleep(200 * time.Millisecond) // a list is work for the API server
			list, err := e.Client.EventsV1().Events(e.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=ApplySucceeded"})
			if err != nil {
				return err
			}
			about := map[string]bool{}
			for _, event := range list.Items {
				about[event.Regarding.Name] = true
			}
			if sent := len(c.got()); len(about) < total || sent < total {
				return fmt.Errorf("Events of %d Actions of %d, and %d notifications", len(about), total, sent)
			}
			return nil
		})
		memory, end := usage(t, p)
		t.Logf("%s: %d Actions in %s, their Events and notifications after %s: %.1f ms of a core each, %d MB", mode, count,
			actions.Round(time.Second), time.Since(began).Round(time.Second), (end-cpu)/float64(count)*1000, memory>>20)
	}
	burst("few", 500)
	burst("many", 2000)
	burst("most", 4000)
	proxy.Inject(faults.Rule{Verbs: []string{"create"}, Resources: []string{"events.events.k8s.io"}, Rate: 0.33, Faults: []faults.Fault{faults.Status{Code: 429, RetryAfter: time.Second}}})
	burst("busy", 1000)
	if n := proxy.Faults(); len(n) == 0 {
		t.Error("nothing was refused")
	}
}
