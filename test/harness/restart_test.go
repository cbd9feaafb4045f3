package harness_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

const survivor = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

func TestRestartOnOldData(t *testing.T) {
	t.Parallel()
	c := cluster{harness.StartOwn(t)}
	c.Apply(t, survivor)
	harness.Eventually(t, patience, func(ctx context.Context) error { return c.available(ctx, "web", 2) })
	token := c.ServiceAccount(t, c.Namespace, "default").BearerToken
	before := map[string]string{}
	for _, pod := range c.pods(t, "app=web") {
		before[string(pod.UID)] = pod.Status.PodIP
	}
	for _, end := range []struct {
		name string
		by   func(testing.TB)
	}{{"killed", c.Kill}, {"stopped", c.Stop}} {
		name := end.name
		end.by(t)
		if _, err := c.Client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Fatalf("%s: it still answers", name)
		}
		c.Restart(t)
		// The client of before finds it, and so does the token of before.
		harness.Eventually(t, patience, func(ctx context.Context) error { return c.available(ctx, "web", 2) })
		after := c.ServiceAccount(t, c.Namespace, "default")
		after.BearerToken = token
		if err := whoAmI(t.Context(), after); err != nil {
			t.Errorf("%s: a token of before: %v", name, err)
		}
		pods := c.pods(t, "app=web")
		if len(pods) != len(before) {
			t.Errorf("%s: %d Pods", name, len(pods))
		}
		for _, pod := range pods {
			if before[string(pod.UID)] != pod.Status.PodIP {
				t.Errorf("%s: Pod %s with address %s wasn't there before", name, pod.Name, pod.Status.PodIP)
			}
		}
		// What is new works too.
		c.Apply(t, `{apiVersion: v1, kind: Pod, metadata: {name: new-`+name+`, labels: {app: new}}, spec: {containers: [{name: new, image: new}]}}`)
		harness.Eventually(t, patience, func(ctx context.Context) error { return c.running(ctx, "new-"+name) })
	}
}
