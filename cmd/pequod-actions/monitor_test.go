package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/process"
)

// watch starts the program, which may read Pods in the loopback network.
func (e *env) watch(t *testing.T, args ...string) *process.Process {
	t.Helper()
	return e.run(t, append([]string{"--monitor-networks=127.77.0.0/16"}, args...)...)
}

// rights gives the account of Monitors rights.
func (e *env) rights(t *testing.T, rules string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watcher}
rules: [%s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watcher}
subjects: [{kind: ServiceAccount, name: watcher}]
`, rules))
}

// Rights of the account of Monitors.
const (
	readPods  = `{apiGroups: [""], resources: [pods], verbs: [get, list]}`
	evictPods = `{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`
)

// pod makes a Pod whose container is an application.
func (e *env) pod(t *testing.T, name string, a *app.App, more string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {app: my-app}
  annotations: {testcluster.pequod.io/address: %q}
spec:
  containers: [{name: app, image: app}]
%s`, name, a.Address, more))
}

// query is the query of the seed.
const query = `query AppState { application { status health pendingTasks } }`

// monitor applies a Monitor of the Pods with rules, and more fields of its spec.
func (e *env) monitor(t *testing.T, name, rules, more string) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: %s}
spec:
  serviceAccountName: watcher
  target: {pods: {selector: {matchLabels: {app: my-app}}, port: %d}}
  probe: {graphql: {query: %q}}
  interval: 1s
  state: data.application
  rules: [%s]
%s`, name, app.Port(), query, rules, more))
}

// monitored waits until the status of a Monitor fulfils a condition.
func (e *env) monitored(t *testing.T, name string, check func(status map[string]any) error) {
	t.Helper()
	monitors := e.Await(t, "platform.pequod.io/v1alpha1", "Monitor", "")
	harness.Eventually(t, patience, func(ctx context.Context) error {
		m, err := monitors.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, _, _ := unstructured.NestedMap(m.Object, "status")
		if observed, _, _ := unstructured.NestedInt64(status, "observedGeneration"); observed != m.GetGeneration() {
			return fmt.Errorf("generation %d is not observed: %v", m.GetGeneration(), status)
		}
		return check(status)
	})
}

// ruleOf returns the status of a rule.
func ruleOf(status map[string]any, name string) map[string]any {
	rules, _, _ := unstructured.NestedSlice(status, "rules")
	for _, r := range rules {
		if r, ok := r.(map[string]any); ok && r["name"] == name {
			return r
		}
	}
	return map[string]any{}
}

// result returns a check for the result of the reactions of a rule.
func result(rule, want string) func(map[string]any) error {
	return func(status map[string]any) error {
		if got, _ := ruleOf(status, rule)["lastResult"].(string); !strings.Contains(got, want) {
			return fmt.Errorf("the result of %s is %q, want %q: %v", rule, got, want, status)
		}
		return nil
	}
}

// events returns the notes of the Events about an object with a reason, and their number with
// those of series.
func (e *env) eventsOf(t *testing.T, kind, name, reason string) (notes []string, count int) {
	t.Helper()
	list, err := e.Client.EventsV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range list.Items {
		if ev.Regarding.Kind == kind && ev.Regarding.Name == name && ev.Reason == reason {
			notes = append(notes, ev.Note)
			count++
			if ev.Series != nil {
				count += int(ev.Series.Count) - 1
			}
		}
	}
	return notes, count
}

// TestMonitor reads a Pod, reports a change of its state once, fires a rule once, and doesn't
// repeat any of it after a restart.
func TestMonitor(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods)
	e.pod(t, "web", a, "")
	p := e.watch(t, withoutLease...)
	e.monitor(t, "my-app", `{name: unhealthy, when: state.health == "unhealthy", severity: Error}`, "")
	e.monitored(t, "my-app", reason("Healthy"))
	a.Set("unhealthy", 3)
	e.monitored(t, "my-app", reason("RuleHolds"))
	e.AwaitEvent(t, patience, "Monitor", "my-app", "RuleFired", "unhealthy has fired for web")
	e.AwaitEvent(t, patience, "Pod", "web", "StateChanged", "has changed")
	e.AwaitEvent(t, patience, "Monitor", "my-app", "StateChanged", "has changed") // it is sent by itself
	_ = p.Cmd.Process.Kill()                                                      // it runs
	<-p.Done
	polls := len(a.Polls())
	e.watch(t, withoutLease...)
	harness.Eventually(t, patience, func(context.Context) error {
		if n := len(a.Polls()); n < polls+4 {
			return fmt.Errorf("%d polls", n-polls)
		}
		return nil
	})
	for _, reason := range []string{"RuleFired", "StateChanged"} {
		if notes, count := e.eventsOf(t, "Monitor", "my-app", reason); count != 1 {
			t.Errorf("%d Events %s: %q", count, reason, notes)
		}
	}
	a.Set("healthy", 0)
	e.monitored(t, "my-app", reason("Healthy"))
}

// TestMonitorFailures polls servers that answer wrong in all ways. No state is compared, and the
// status says what is wrong.
func TestMonitorFailures(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods)
	e.pod(t, "web", a, "")
	e.watch(t)
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: my-app}
spec:
  serviceAccountName: watcher
  target: {pods: {selector: {matchLabels: {app: my-app}}, port: %d}}
  probe: {graphql: {query: "{ application { health owner } }"}}
  interval: 1s
  timeout: 2s
  state: data.application.health
  rules: [{name: changed, firesOn: Change}]
`, app.Port()))
	e.monitored(t, "my-app", reason("Healthy"))
	message := func(want string) func(map[string]any) error {
		return func(status map[string]any) error {
			targets, _, _ := unstructured.NestedSlice(status, "targets")
			if !strings.Contains(fmt.Sprint(targets), want) {
				return fmt.Errorf("no target with %q: %v", want, targets)
			}
			return reason("TargetUnreachable")(status)
		}
	}
	a.Set("other", 0)
	a.Fail("owner is away")
	e.monitored(t, "my-app", message("the answer has errors: owner is away"))
	for want, by := range map[string]http.HandlerFunc{
		"larger than": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"data": {"application": {"health": %q}}}`, strings.Repeat("x", 5<<20))
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("\x1f\x8b"))
		},
		"no answer within 2s": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"answers 503":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"has no data":         func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data": null}`) },
		"more than 16384": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"data": {"application": {"health": %q}}}`, strings.Repeat("x", 17000))
		},
	} {
		a.Override(by)
		e.monitored(t, "my-app", message(want))
	}
	if notes, count := e.eventsOf(t, "Monitor", "my-app", "StateChanged"); count != 0 {
		t.Errorf("a failed poll was compared: %q", notes)
	}
}

// TestMonitorRefused refuses Monitors that can't be, and targets outside of the networks.
func TestMonitorRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [""], resources: [services], verbs: [get]}`)
	e.pod(t, "web", a, "")
	e.watch(t)
	e.monitor(t, "unselected", `{name: x, when: state.owner == "me"}`, "")
	e.monitor(t, "exec", `{name: x, when: "true", do: [{exec: {command: [ls]}}]}`, "")
	for name, want := range map[string]string{
		"unselected": "spec.rules[0] (x) reads application.owner, which the query doesn't select",
		"exec":       "see --enable-exec of pequod-actions",
	} {
		e.monitored(t, name, func(status map[string]any) error {
			if !strings.Contains(fmt.Sprint(status["conditions"]), want) {
				return fmt.Errorf("no %q: %v", want, status)
			}
			return reason("InvalidMonitor")(status)
		})
	}
}

// TestMonitorRevoked takes the rights of a Monitor's account away, and gives them back. The object doesn't
// change meanwhile.
func TestMonitorRevoked(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	proxy := e.Proxy(t, 1)
	e.rights(t, `{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`)
	e.Apply(t, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: watcher}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: mode}, data: {mode: safe}}
---
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: mode}
spec: {serviceAccountName: watcher, probe: {object: {apiVersion: v1, kind: ConfigMap, name: mode}}, state: object.data.mode, interval: 1h}
`)
	e.as = proxy.Config(e.as)
	e.watch(t)
	e.monitored(t, "mode", reason("Healthy"))
	e.rights(t, readPods)
	// A watch that is open goes on without the right, so it is cut, as it is from time to time.
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	e.monitored(t, "mode", func(status map[string]any) error {
		if text := fmt.Sprint(status); strings.Contains(text, "Healthy") || !strings.Contains(text, "cannot list resource") && !strings.Contains(text, "cannot watch resource") {
			return fmt.Errorf("the right isn't missing: %s", text)
		}
		return nil
	})
	e.rights(t, `{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`)
	e.monitored(t, "mode", reason("Healthy"))
}
