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
