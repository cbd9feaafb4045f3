package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/app"
	"github.com/pequod-io/pequod/test/process"
)

// TestTargetApp applies the example of the seed as it is. The Pod that is unhealthy is replaced.
func TestTargetApp(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Namespace = "default" // that of the example
	a := app.StartOn(t, 8080)
	a.Set("unhealthy", 3)
	e.Apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: my-app}
spec:
  selector: {matchLabels: {app: my-app}}
  template:
    metadata: {labels: {app: my-app}, annotations: {testcluster.pequod.io/address: %q}}
    spec: {containers: [{name: app, image: app}]}
`, a.Address))
	pod := func(ctx context.Context) (string, error) {
		list, err := e.Client.CoreV1().Pods(e.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=my-app"})
		if err != nil || len(list.Items) != 1 {
			return "", fmt.Errorf("%d Pods: %w", len(list.Items), err)
		}
		return string(list.Items[0].UID), nil
	}
	var first string
	harness.Eventually(t, patience, func(ctx context.Context) (err error) { first, err = pod(ctx); return err })
	seed, err := filepath.Abs("../../modules/platform/targetapp/tests/seed/instance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	process.Pequod(t, e.Cluster, 0, "apply", "-f", seed)
	e.watch(t)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		now, err := pod(ctx)
		if err == nil && now == first {
			err = fmt.Errorf("the Pod is the first one")
		}
		return err
	})
	e.AwaitEvent(t, patience, "Monitor", "my-app", "ActionSucceeded", "evicted my-app-")
	if notes, _ := e.eventsOf(t, "Monitor", "my-app", "RuleFired"); !strings.Contains(fmt.Sprint(notes), "0-restart-pod") {
		t.Errorf("Events: %q", notes)
	}
}

// targetApps is the platform of TargetApps, with what the manager needs to grant it, and an instance whose Monitor
// has an account of its own.
const targetApps = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pequod-manager-targetapps, labels: {pequod.io/aggregate-to-manager: "true"}}
rules:
- {apiGroups: [platform.pequod.io], resources: [monitors], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [operator.kco.local], resources: ["*"], verbs: [get, list, watch, update, patch]}
---
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: targetapp, namespace: pequod-system}
spec:
  cueRef: {type: embedded, ref: targetapp}
  managedResources: [{apiGroup: platform.pequod.io, resources: [monitors]}]
`

// TestTargetAppStatus has the manager render a TargetApp. Its status has the state of the application and the
// results of the actions, and the Events of its Monitor are on it.
func TestTargetAppStatus(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, string(operator.Manifests))
	operator.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, operator.Account))
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}, {apiGroups: [apps], resources: [deployments], verbs: [get]}`)
	e.pod(t, "web", a, "")
	e.watch(t)
	e.Apply(t, targetApps)
	e.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled}
spec:
  replicas: 1
  selector: {matchLabels: {of: scaled}}
  template: {metadata: {labels: {of: scaled}}, spec: {containers: [{name: a, image: a}]}}
`)
	const kind = "operator.kco.local/v1alpha1"
	e.Await(t, kind, "TargetApp", "")
	e.Apply(t, fmt.Sprintf(`
apiVersion: %s
kind: TargetApp
metadata: {name: my-app}
spec:
  selector: {matchLabels: {app: my-app}}
  port: %d
  pollingInterval: 1
  stateQuery: %q
  serviceAccountName: watcher
  actions:
  - trigger: {field: application.health, condition: equals, value: unhealthy}
    action: scale_deployment
    parameters: {deployment: scaled, replicas: 3}
`, kind, app.Port(), query))
	has := func(want ...string) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			status := fmt.Sprint(e.Get(t, kind, "TargetApp", "my-app").Object["status"])
			for _, text := range want {
				if !strings.Contains(status, text) {
					return fmt.Errorf("no %q: %s", text, status)
				}
			}
			return nil
		})
	}
	has("state:Healthy", "message:all targets were read", "pods:1", "name:0-scale-deployment", "unreachable:[]")
	a.Set("unhealthy", 0)
	has("state:RuleHolds", "fired:1", "holds:true", "lastResult:scaled Deployment scaled to 3")
	e.AwaitEvent(t, patience, "TargetApp", "my-app", "RuleFired", "Monitor my-app: rule 0-scale-deployment has fired for web")
	e.AwaitEvent(t, patience, "TargetApp", "my-app", "ActionSucceeded", "scaled Deployment scaled to 3")
	events, err := e.Client.EventsV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uid := e.Get(t, kind, "TargetApp", "my-app").GetUID()
	for _, event := range events.Items {
		// kubectl describe looks for the UID.
		if event.Regarding.Kind == "TargetApp" && (event.Regarding.UID != uid || event.Regarding.APIVersion != kind) {
			t.Errorf("an Event regards %+v", event.Regarding)
		}
	}
	limit := fmt.Sprint(e.Get(t, "platform.pequod.io/v1alpha1", "Monitor", "my-app").Object["spec"])
	if !strings.Contains(limit, "limit:map[count:10 per:600s]") {
		t.Errorf("no limit: %s", limit)
	}
}
