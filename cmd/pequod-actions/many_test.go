package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/process"
)

// manyInterval is the interval of the Monitors of [TestManyMonitors].
const manyInterval = 2 * time.Second

// TestManyMonitors has 200 Monitors. For a while, the server of 20 of them doesn't answer. The others are
// polled as before and afterwards, and statistics are served to those who may read them.
func TestManyMonitors(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.rights(t, readPods)
	const count, hanging, groups = 200, 20, 6
	var apps []*app.App
	hangs, release := context.WithCancel(t.Context())
	t.Cleanup(release)
	for i := range groups {
		a := app.Start(t)
		apps = append(apps, a)
		e.pod(t, fmt.Sprint("web-", i), a, "")
		patch := fmt.Sprintf(`{"metadata":{"labels":{"group":"g%d"}}}`, i)
		if _, err := e.Client.CoreV1().Pods(e.Namespace).Patch(t.Context(), fmt.Sprint("web-", i), "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	group := func(i int) int {
		if i < hanging {
			return 0
		}
		return 1 + i%(groups-1)
	}
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, `
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: m%d}
spec:
  serviceAccountName: watcher
  target: {pods: {selector: {matchLabels: {group: g%d}}, port: %d}}
  probe: {graphql: {path: "/graphql?m%d", query: %q}}
  interval: %s
  timeout: 30s
---`, i, group(i), app.Port(), i, query, manyInterval)
	}
	p := e.watch(t, withoutLease...) // a busy machine may keep the lease from being renewed
	e.Apply(t, strings.TrimSuffix(all.String(), "---"))
	// delays waits until each of the others was polled often enough since a time, and returns how much
	// later than their interval the polls were, in order.
	delays := func(since time.Time, often int) (late []time.Duration) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			late = nil
			for i := hanging; i < count; i++ {
				polls := slices.DeleteFunc(apps[group(i)].PollsOf(fmt.Sprint("m", i)), since.After)
				if len(polls) < often {
					return fmt.Errorf("Monitor %d was polled %d times", i, len(polls))
				}
				for j := range polls[1:] {
					late = append(late, polls[j+1].Sub(polls[j])-manyInterval)
				}
			}
			return nil
		})
		slices.Sort(late)
		return late
	}
	before := delays(time.Time{}, 5)
	began := time.Now()
	var held atomic.Int32
	apps[0].Override(func(_ http.ResponseWriter, r *http.Request) {
		held.Add(1)
		select {
		case <-hangs.Done():
		case <-r.Context().Done():
		}
	})
	harness.Eventually(t, patience, func(context.Context) error {
		if n := held.Load(); n < 4 {
			return fmt.Errorf("the server holds %d requests", n)
		}
		return nil
	})
	during := delays(time.Now(), 6)
	took := time.Since(began)
	apps[0].Override(nil)
	release()
	after := delays(time.Now(), 5)
	// A poll that waits for one that hangs is later by up to the timeout. A busy machine has polls that are
	// late, too, but not so many more of them than shortly before and shortly afterwards.
	for _, share := range []int{50, 95} {
		of := func(late []time.Duration) time.Duration { return late[len(late)*share/100] }
		t.Logf("interval %s: %d %% are later by %s at most, by %s beside a server that hangs, and by %s afterwards", manyInterval, share, of(before), of(during), of(after))
		if limit := 2*max(of(before), of(after)) + manyInterval; of(during) > limit {
			t.Errorf("%d %% are later by %s at most, more than %s", share, of(during), limit)
		}
	}
	// Four of its polls are in flight at once, and each of them ends with its timeout.
	if n, most := int(held.Load()), 4*(2+int(took/(30*time.Second))); n > most {
		t.Errorf("the server that hangs got %d requests, more than %d", n, most)
	}
	e.checkStats(t, p, count)
}

// checkStats reads /stats and /metrics as somebody who may, and as others.
func (e *env) checkStats(t *testing.T, p *process.Process, count int) {
	t.Helper()
	reader, other := e.ServiceAccount(t, e.Namespace, "reader").BearerToken, e.ServiceAccount(t, e.Namespace, "other").BearerToken
	e.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stats}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pequod-actions-stats-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metrics}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics}
subjects: [{kind: ServiceAccount, name: reader, namespace: %[1]s}]
`, e.Namespace))
	for token, want := range map[string]int{"": http.StatusUnauthorized, other: http.StatusForbidden} {
		if code, body, err := process.Get(t.Context(), "https://"+p.Metrics+"/stats", token); err != nil || code != want {
			t.Errorf("%d, want %d: %s %v", code, want, body, err)
		}
	}
	var text string
	harness.Eventually(t, patience, func(ctx context.Context) error {
		code, body, err := process.Get(ctx, "https://"+p.Metrics+"/stats", reader)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d: %s", code, body)
		}
		text = body
		return err
	})
	var stats struct {
		Monitors int
		Items    []struct {
			Namespace, Name string
			Polls, Failures int64
		}
	}
	if err := json.Unmarshal([]byte(text), &stats); err != nil || stats.Monitors != count || len(stats.Items) != count || stats.Items[count-1].Polls < 5 {
		t.Errorf("%d Monitors, %v: %.500s", stats.Monitors, err, text)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error { // the API server may not know the right yet
		_, metrics, err := process.Get(ctx, "https://"+p.Metrics+"/metrics", reader)
		if err != nil {
			return err
		}
		for _, want := range []string{
			fmt.Sprintf("\npequod_monitors_active %d\n", count), `pequod_monitor_polls_total{result="success"} `,
			"pequod_monitor_poll_duration_seconds_count ",
		} {
			if !strings.Contains(metrics, want) {
				return fmt.Errorf("the metrics have no %q: %.200s", want, metrics)
			}
		}
		return nil
	})
}

// TestMonitorTargets reads a Service, one of several Pods, an address and an object, and refuses
// targets that may be anywhere.
func TestMonitorTargets(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [""], resources: [services], verbs: [get]}, {apiGroups: [""], resources: [configmaps], resourceNames: [mode], verbs: [get, list, watch]}`)
	e.pod(t, "web", a, "")
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: named, labels: {of: service}, annotations: {testcluster.pequod.io/address: %q}}
spec: {containers: [{name: app, image: app, ports: [{name: web, containerPort: %d}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: host, labels: {of: host}}
spec: {hostNetwork: true, containers: [{name: app, image: app}]}
---
apiVersion: v1
kind: Pod
metadata: {name: outside, labels: {of: outside}}
spec: {containers: [{name: app, image: app}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {of: service}, ports: [{port: 80, targetPort: web}]}
---
apiVersion: v1
kind: Service
metadata: {name: anywhere}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mode}
data: {mode: normal}
`, a.Address, app.Port()))
	e.watch(t)
	of := func(name, target, probe, more string) {
		t.Helper()
		e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: %s}
spec:
  serviceAccountName: watcher
  %s
  probe: %s
  interval: 1h
  %s
`, name, target, probe, more))
	}
	graphql := fmt.Sprintf("{graphql: {query: %q}}", query)
	of("service", "target: {service: {name: web, port: 80}}", graphql, "")
	of("any", fmt.Sprintf("target: {pods: {selector: {matchLabels: {app: my-app}}, port: %d, read: AnyReady}}", app.Port()), graphql, "")
	of("address", "target: {url: "+e.host.URL+"}", `{http: {path: /runs/none, expect: [404]}}`, "")
	of("object", "", `{object: {apiVersion: v1, kind: ConfigMap, name: mode}}`, `state: object.data.mode
  rules: [{name: safe, when: state == "safe", severity: Error}]`)
	for _, name := range []string{"service", "any", "address", "object"} {
		e.monitored(t, name, reason("Healthy"))
	}
	of("anywhere", "target: {service: {name: anywhere, port: 80}}", graphql, "")
	of("host", "target: {pods: {selector: {matchLabels: {of: host}}, port: 80}}", graphql, "")
	of("outside", "target: {pods: {selector: {matchLabels: {of: outside}}, port: 80}}", graphql, "")
	of("none", "target: {pods: {selector: {matchLabels: {of: nothing}}, port: 80}}", graphql, "")
	of("apiserver", "target: {url: "+e.Config.Host+"}", `{http: {path: /version}}`, "")
	of("unread", "", `{object: {apiVersion: v1, kind: ConfigMap, name: other}}`, "timeout: 1s")
	for name, want := range map[string]string{
		"anywhere": "service anywhere has no selector", "host": "is in the network of its node", "outside": "--monitor-networks of pequod-actions",
		"none": "there is no target to read", "apiserver": "the address is that of the API server", "unread": `service account watcher cannot list resource "configmaps" in API group ""`,
	} {
		e.monitored(t, name, func(status map[string]any) error {
			if !strings.Contains(fmt.Sprint(status["conditions"]), want) {
				return fmt.Errorf("no %q: %v", want, status)
			}
			return nil
		})
	}
	// A change of the object is noticed although the interval is an hour.
	e.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: mode}, data: {mode: safe}}")
	e.monitored(t, "object", reason("RuleHolds"))
	if err := e.Client.CoreV1().ConfigMaps(e.Namespace).Delete(t.Context(), "mode", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.monitored(t, "object", func(status map[string]any) error {
		if !strings.Contains(fmt.Sprint(status["targets"]), "not found") {
			return fmt.Errorf("the object isn't missing: %v", status)
		}
		return nil
	})
}
