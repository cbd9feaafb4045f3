package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/process"
)

// bad is the condition of rules in tests.
const bad = `when: state.health == "unhealthy"`

// uid returns the UID of a Pod, or "" if it is gone.
func (e *env) uid(t *testing.T, name string) string {
	t.Helper()
	pod, err := e.Client.CoreV1().Pods(e.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pod.UID)
}

// TestMonitorRestart evicts the Pod that a rule has fired for, and no other one. A disruption budget
// refuses the eviction, and so does a Pod that isn't ready.
func TestMonitorRestart(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	well, ill := app.Start(t), app.Start(t)
	e.rights(t, readPods+", "+evictPods)
	e.pod(t, "well", well, "")
	e.pod(t, "ill", ill, "")
	e.Apply(t, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: my-app}
spec: {minAvailable: 2, selector: {matchLabels: {app: my-app}}}
`)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		b, err := e.Client.PolicyV1().PodDisruptionBudgets(e.Namespace).Get(ctx, "my-app", metav1.GetOptions{})
		if err == nil && b.Status.CurrentHealthy != 2 {
			err = fmt.Errorf("%d Pods are healthy", b.Status.CurrentHealthy)
		}
		return err
	})
	e.watch(t)
	e.monitor(t, "my-app", `{name: r, `+bad+`, firesOn: While, cooldown: 2s, do: [{restartPods: {gracePeriodSeconds: 0}}]}`, "  dryRun: true")
	e.monitored(t, "my-app", reason("Healthy"))
	ill.Set("unhealthy", 0)
	e.monitored(t, "my-app", result("r", "dry run: would do restartPods"))
	e.monitor(t, "my-app", `{name: r, `+bad+`, firesOn: While, cooldown: 2s, do: [{restartPods: {gracePeriodSeconds: 0}}]}`, "  dryRun: false")
	e.monitored(t, "my-app", result("r", "a disruption budget refuses the eviction"))
	e.AwaitEvent(t, patience, "Monitor", "my-app", "ActionFailed", "disruption budget")
	if e.uid(t, "ill") == "" {
		t.Fatal("the Pod is gone")
	}
	if err := e.Client.PolicyV1().PodDisruptionBudgets(e.Namespace).Delete(t.Context(), "my-app", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.monitored(t, "my-app", result("r", "evicted ill"))
	harness.Eventually(t, patience, func(context.Context) error {
		if e.uid(t, "ill") != "" {
			return fmt.Errorf("the Pod is there")
		}
		return nil
	})
	if e.uid(t, "well") == "" {
		t.Error("the other Pod was evicted")
	}
	// Another Pod that isn't ready uses up what may be unavailable.
	e.pod(t, "ill", ill, "")
	slow := app.Start(t)
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: slow
  labels: {app: my-app}
  annotations: {testcluster.pequod.io/address: %q, testcluster.pequod.io/ready-after: never}
spec:
  containers: [{name: app, image: app}]
`, slow.Address))
	harness.Eventually(t, patience, func(context.Context) error {
		if len(slow.Polls()) == 0 {
			return fmt.Errorf("the Pod isn't polled")
		}
		return nil
	})
	e.monitored(t, "my-app", result("r", "more than 1 Pods would be unavailable"))
}

// TestMonitorHTTP sends a notification to an address of a Secret, which is nowhere else, as the
// account that may read it.
func TestMonitorHTTP(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [""], resources: [secrets], resourceNames: [hook, elsewhere], verbs: [get]}`)
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: hook}
stringData: {url: "%[1]s/services/%[2]s", X-Token: %[2]s}
---
apiVersion: v1
kind: Secret
metadata: {name: other}
stringData: {url: "%[1]s/%[2]s"}
---
apiVersion: v1
kind: Secret
metadata: {name: elsewhere}
stringData: {url: "https://%[2]s.example.com/"}
`, e.host.URL, canary))
	e.pod(t, "web", a, "")
	p := e.watch(t)
	e.monitor(t, "my-app", `
  {name: told, `+bad+`, do: [{http: {urlSecretRef: {name: hook, key: url}, body: '{"text": "Alert: " + monitor.name + " " + target.name + " " + old.health + " to " + state.health}'}}]},
  {name: unread, `+bad+`, do: [{http: {urlSecretRef: {name: other, key: url}}}]},
  {name: elsewhere, `+bad+`, do: [{http: {urlSecretRef: {name: elsewhere, key: url}}}]},
  {name: metadata, `+bad+`, do: [{http: {url: "http://169.254.169.254/latest"}}]},
  {name: apiserver, `+bad+`, do: [{http: {url: "`+e.Config.Host+`"}}]}`, "")
	e.monitored(t, "my-app", reason("Healthy"))
	a.Set("unhealthy", 0)
	e.monitored(t, "my-app", result("told", "POST the address of Secret hook answers 200"))
	e.monitored(t, "my-app", result("unread", `Secret other: service account watcher cannot get resource "secrets"`))
	e.monitored(t, "my-app", result("elsewhere", "POST the address of Secret elsewhere: host [redacted] is not allowed"))
	e.monitored(t, "my-app", result("metadata", "host 169.254.169.254 is not allowed"))
	e.monitored(t, "my-app", result("apiserver", "the address is that of the API server"))
	e.host.set(func() {
		if got := strings.Join(e.host.runs, " "); got != `{"text":"Alert: my-app web healthy to unhealthy"}` {
			t.Errorf("the server got %s", got)
		}
		e.host.refuse = http.StatusForbidden
	})
	e.monitor(t, "again", `{name: told, `+bad+`, do: [{http: {urlSecretRef: {name: hook, key: url}, headersSecretRef: {name: hook}}}]}`, "")
	e.monitored(t, "again", result("told", "answers 403"))
	for _, name := range []string{"my-app", "again"} {
		if m := e.Get(t, "platform.pequod.io/v1alpha1", "Monitor", name); strings.Contains(fmt.Sprint(m.Object), canary) {
			t.Errorf("%s has the Secret: %v", name, m.Object)
		}
	}
	events, err := e.Client.EventsV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || strings.Contains(fmt.Sprint(events), canary) || strings.Contains(p.Log.String(), canary) {
		t.Errorf("Events or the log have the Secret: %v", err)
	}
	e.metrics(t, p,
		`pequod_actions_executed_total{purpose="Reaction",result="Succeeded",type="http"} 1`, `pequod_actions_executed_total{purpose="Reaction",result="Failed",type="http"} 5`,
		`pequod_action_duration_seconds_count{type="http"} 6`, `pequod_events_generated_total{reason="ActionFailed"} 10`, `pequod_monitor_errors_total{category="reaction"} 5`)
}

// TestMonitorApplies scales, patches, and requests runs and reconciliations, as far as the account
// may and nobody takes the fields back. Deployments are made by several tools, as their managers.
func TestMonitorApplies(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}, {apiGroups: [apps], resources: [deployments], verbs: [get, patch]},
  {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [list]}, {apiGroups: [platform.pequod.io], resources: [actions], verbs: [patch]},
  {apiGroups: [platform.pequod.io], resources: [resourcegraphs], verbs: [get]}`)
	e.pod(t, "web", a, "")
	deployment := func(name, replicas string) string {
		return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  %[2]s
  selector: {matchLabels: {of: %[1]s}}
  template: {metadata: {labels: {of: %[1]s}}, spec: {containers: [{name: a, image: a}]}}
`, name, replicas)
	}
	e.Apply(t, deployment("free", "paused: false")+"---"+deployment("auto", "paused: false")+`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: auto}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: auto}
  minReplicas: 2
  maxReplicas: 4
`)
	deployments := e.Await(t, "apps/v1", "Deployment", "")
	for name, manager := range map[string]string{
		"created": "kubectl-create", "applied": "kubectl-client-side-apply", "released": "helm", "synced": "argocd-application-controller",
		"served": "kubectl", "fluxed": "kustomize-controller", "argoed": "argocd-controller", "local": "pequod",
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(deployment(name, "replicas: 1")), &object.Object); err != nil {
			t.Fatal(err)
		}
		var err error
		switch name {
		case "created", "applied", "released", "synced":
			_, err = deployments.Create(t.Context(), object, metav1.CreateOptions{FieldManager: manager})
		case "local": // by pequod apply, whose graph is not in the cluster
			object.SetLabels(map[string]string{"pequod.io/graph": "local", "pequod.io/graph-namespace": e.Namespace})
			fallthrough
		default:
			_, err = deployments.Apply(t.Context(), name, object, metav1.ApplyOptions{FieldManager: manager})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	e.action(t, "backup", "1", "")
	e.watch(t)
	e.status(t, "backup", reason("RunSucceeded"))
	var rules strings.Builder
	for _, name := range []string{"free", "created", "applied", "released", "served", "local", "synced", "fluxed", "argoed", "auto"} {
		fmt.Fprintf(&rules, "  {name: %[1]s, "+bad+", do: [{scale: {kind: Deployment, name: %[1]s, replicas: 3}}]},\n", name)
	}
	e.monitor(t, "my-app", rules.String()+`
  {name: sets, `+bad+`, do: [{patch: {apiVersion: apps/v1, kind: Deployment, name: auto, patch: {spec: {replicas: 3}}}}]},
  {name: changes, `+bad+`, do: [{patch: {apiVersion: apps/v1, kind: Deployment, name: created, patch: {spec: {replicas: 3, template: {spec: {containers: [{name: a, image: b}]}}}}}}]},
  {name: reverts, `+bad+`, do: [{patch: {apiVersion: apps/v1, kind: Deployment, name: fluxed, patch: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}}]},
  {name: patch, `+bad+`, do: [{patch: {apiVersion: apps/v1, kind: Deployment, name: free, patch: {metadata: {labels: {mode: safe}}, spec: {minReadySeconds: 7}}}}]},
  {name: none, `+bad+`, do: [{patch: {apiVersion: apps/v1, kind: Deployment, name: none, patch: {spec: {minReadySeconds: 7}}}}]},
  {name: forbidden, `+bad+`, do: [{patch: {apiVersion: v1, kind: ConfigMap, name: x, patch: {data: {a: b}}}}]},
  {name: run, `+bad+`, do: [{run: {action: backup}}]}`, "")
	e.monitored(t, "my-app", reason("Healthy"))
	harness.Eventually(t, patience, func(ctx context.Context) error { // the autoscaler looks every 15 seconds
		auto, err := e.Client.AppsV1().Deployments(e.Namespace).Get(ctx, "auto", metav1.GetOptions{})
		if err == nil && *auto.Spec.Replicas != 2 {
			err = fmt.Errorf("auto has %d replicas", *auto.Spec.Replicas)
		}
		return err
	})
	a.Set("unhealthy", 0)
	for rule, want := range map[string]string{
		"auto": "Deployment auto: HorizontalPodAutoscaler auto sets its replicas; change its minReplicas instead",
		"sets": "Deployment auto: HorizontalPodAutoscaler auto sets its replicas",
		"free": "scaled Deployment free to 3", "created": "scaled Deployment created to 3", "applied": "scaled Deployment applied to 3",
		"released": "scaled Deployment released to 3", "served": "scaled Deployment served to 3", "local": "scaled Deployment local to 3",
		"fluxed":  `Deployment fluxed: field spec.replicas belongs to Flux (field manager "kustomize-controller"), which would take it back; remove the field`,
		"argoed":  `Deployment argoed: field spec.replicas belongs to Argo CD (field manager "argocd-controller"), which would take it back`,
		"synced":  `Deployment synced: field spec.replicas belongs to Argo CD (field manager "argocd-application-controller"), which would take it back`,
		"changes": "patched Deployment created",
		"reverts": `image belongs to Flux (field manager "kustomize-controller"), which would take it back`,
		"patch":   "patched Deployment free", "none": "Deployment none: not found",
		"forbidden": `ConfigMap x: service account watcher cannot get resource "configmaps" in API group "" in the namespace "` + e.Namespace + `"; add this right to a Role`,
		"run":       "requested a reconciliation of Action backup",
	} {
		e.monitored(t, "my-app", result(rule, want))
	}
	for name, want := range map[string]int32{"created": 3, "released": 3, "fluxed": 1, "synced": 1} {
		d, err := e.Client.AppsV1().Deployments(e.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || *d.Spec.Replicas != want {
			t.Errorf("%s has %d replicas: %v", name, *d.Spec.Replicas, err)
		}
	}
	free := e.Get(t, "apps/v1", "Deployment", "free")
	replicas, _, _ := unstructured.NestedInt64(free.Object, "spec", "replicas")
	seconds, _, _ := unstructured.NestedInt64(free.Object, "spec", "minReadySeconds")
	if replicas != 3 || seconds != 7 || free.GetLabels()["mode"] != "safe" {
		t.Errorf("the Deployment has %d replicas: %v", replicas, free.Object)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if runs, _, _ := e.host.counts(); runs != 2 {
			return fmt.Errorf("%d runs of the Action", runs)
		}
		return nil
	})
}

// TestMonitorGraph has a graph wait for a Monitor, and leaves the fields to the graph that it owns.
func TestMonitorGraph(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, string(config.Applier))
	a := app.Start(t)
	a.Set("unhealthy", 0)
	const scale = readPods + `, {apiGroups: [apps], resources: [deployments, deployments/scale], verbs: [get, patch]}`
	e.rights(t, scale)
	e.pod(t, "web", a, "")
	e.watch(t)
	deployment := func(name, policy string) string {
		return fmt.Sprintf(`
    - id: %[1]s
      resource:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: %[1]s, namespace: %[3]s}
        spec:
          replicas: 1
          selector: {matchLabels: {of: %[1]s}}
          template: {metadata: {labels: {of: %[1]s}}, spec: {containers: [{name: a, image: a}]}}
%[2]s`, name, policy, e.Namespace)
	}
	graph := fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: shop, namespace: %s}
spec:
  graph:
    nodes:
    - id: healthy
      externalRef: {apiVersion: platform.pequod.io/v1alpha1, kind: Monitor, name: my-app}
    - id: after
      dependencies: [healthy]
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: after, namespace: %s}}
%s`, e.Namespace, e.Namespace, deployment("owned", "")+deployment("left", "      applyPolicy: {ignoreFields: [spec.replicas]}"))
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte(graph), 0o600); err != nil {
		t.Fatal(err)
	}
	e.ServiceAccount(t, e.Namespace, "pequod")
	var roles strings.Builder
	for line := range strings.Lines(process.PequodIn(t, t.TempDir(), 0, "rbac", "generate", "-f", file)) {
		if !strings.HasPrefix(line, "pequod: ") { // its summary
			roles.WriteString(line)
		}
	}
	e.Apply(t, roles.String())
	e.Apply(t, graph)
	e.monitor(t, "my-app", `
  {name: ill, `+bad+`, severity: Error},
  {name: owned, when: state.pendingTasks > 5, firesOn: While, cooldown: 2s, do: [{scale: {kind: Deployment, name: owned, replicas: 3}}]},
  {name: left, when: state.pendingTasks > 5, firesOn: While, cooldown: 2s, do: [{scale: {kind: Deployment, name: left, replicas: 3}}]}`, "")
	applier := process.Program{Name: "pequod-applier", Account: "pequod-applier"}
	applier.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, "pequod-applier"))
	e.monitored(t, "my-app", reason("RuleHolds"))
	replicas := func(name string, want int64) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			d, err := e.Client.AppsV1().Deployments(e.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil && int64(*d.Spec.Replicas) != want {
				err = fmt.Errorf("%s has %d replicas", name, *d.Spec.Replicas)
			}
			return err
		})
	}
	replicas("owned", 1)
	replicas("left", 1)
	if _, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the graph didn't wait for the Monitor: %v", err)
	}
	a.Set("healthy", 9)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Get(ctx, "after", metav1.GetOptions{})
		return err
	})
	unread := `OwnedByGraph: field spec.replicas is owned by field manager "pequod", and the service account watcher has no right to get ResourceGraph ` + e.Namespace + "/shop"
	e.monitored(t, "my-app", result("left", unread))
	e.rights(t, scale+`, {apiGroups: [platform.pequod.io], resources: [resourcegraphs], verbs: [get]}`)
	e.monitored(t, "my-app", result("owned", "OwnedByGraph: field spec.replicas belongs to ResourceGraph "+e.Namespace+"/shop"))
	e.monitored(t, "my-app", result("left", "scaled Deployment left to 3"))
	replicas("left", 3)
	replicas("owned", 1)
}

// TestMonitorKilled kills the program with -9 while a reaction is in flight. The next process does
// it again with the same key, and fires no rule again.
func TestMonitorKilled(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods)
	e.pod(t, "web", a, "")
	p := e.watch(t, withoutLease...)
	e.monitor(t, "my-app", `{name: told, `+bad+`, do: [{http: {url: "`+e.host.URL+`", body: '{"health": state.health}'}}]}`, "")
	e.monitored(t, "my-app", reason("Healthy"))
	killed := false
	e.host.set(func() {
		e.host.before = func() {
			if !killed {
				killed = true
				_ = p.Cmd.Process.Kill() // it runs
				<-p.Done
			}
		}
	})
	a.Set("unhealthy", 0)
	<-p.Done
	e.watch(t, withoutLease...)
	e.monitored(t, "my-app", result("told", "answers 200"))
	if runs, posts, _ := e.host.counts(); runs != 1 || posts != 2 || e.host.runs[0] != `{"health":"unhealthy"}` {
		t.Errorf("%d requests with one key: %v", posts, e.host.runs)
	}
	e.monitored(t, "my-app", func(status map[string]any) error {
		if fired := ruleOf(status, "told")["fired"]; fired != int64(1) || status["firings"] != nil {
			return fmt.Errorf("fired %v times: %v", fired, status)
		}
		return nil
	})
}
