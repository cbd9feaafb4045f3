package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/harness"
)

// TestMonitorWatches has 50 Monitors of ConfigMaps and Deployments, of two accounts. The objects of a kind and an
// account share one watch. The watch of one account serves no Monitor of the other, which has lost the right.
func TestMonitorWatches(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	proxy := e.Proxy(t, 1)
	role := func(account, verbs string) {
		t.Helper()
		e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [%[2]s]}, {apiGroups: [apps], resources: [deployments], verbs: [%[2]s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s}]
`, account, verbs))
	}
	role("one", "get, list, watch")
	role("two", "get, list, watch")
	// Each ConfigMap has Monitors of both accounts.
	const configs, deployments = 19, 12
	var all strings.Builder
	monitor := func(name, account, api, kind, object, state string) {
		fmt.Fprintf(&all, `---
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: %s}
spec: {serviceAccountName: %s, probe: {object: {apiVersion: %s, kind: %s, name: %s}}, state: %s, interval: 1h, rules: [{name: low, when: state < 1, severity: Error}]}
`, name, account, api, kind, object, state)
	}
	for i := range configs {
		name := fmt.Sprint("m", i)
		fmt.Fprintf(&all, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {mode: \"1\"}}\n", name)
		monitor("one-"+name, "one", "v1", "ConfigMap", name, "int(object.data.mode)")
		monitor("two-"+name, "two", "v1", "ConfigMap", name, "int(object.data.mode)")
	}
	deployment := func(name string, replicas int) string {
		return fmt.Sprintf("---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s}, spec: {replicas: %[2]d, selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: app, image: app}]}}}}\n", name, replicas)
	}
	for i := range deployments {
		name := fmt.Sprint("d", i)
		all.WriteString(deployment(name, 1))
		monitor("one-"+name, "one", "apps/v1", "Deployment", name, "object.spec.replicas")
	}
	e.Apply(t, strings.TrimPrefix(all.String(), "---\n"))
	e.as = proxy.Config(e.as)
	e.watch(t, withoutLease...)
	monitors := e.Await(t, "platform.pequod.io/v1alpha1", "Monitor", "")
	// await waits until the Monitors whose names have a prefix have a reason.
	await := func(prefix, want string, count int) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			list, err := monitors.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			got := 0
			for _, m := range list.Items {
				if status, _ := m.Object["status"].(map[string]any); strings.HasPrefix(m.GetName(), prefix) && reason(want)(status) == nil {
					got++
				}
			}
			if got != count {
				return fmt.Errorf("%d Monitors %s have the reason %s, want %d", got, prefix, want, count)
			}
			return nil
		})
	}
	change := func(mode int) {
		t.Helper()
		var changed strings.Builder
		for i := range deployments {
			changed.WriteString(deployment(fmt.Sprint("d", i), mode))
		}
		for i := range configs {
			fmt.Fprintf(&changed, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d}, data: {mode: \"%d\"}}\n", i, mode)
		}
		e.Apply(t, strings.TrimPrefix(changed.String(), "---\n"))
	}
	// cut has all watches opened again.
	cut := func() {
		t.Helper()
		proxy.Reset()
		if err := proxy.Down(); err != nil {
			t.Fatal(err)
		}
		if err := proxy.Up(); err != nil {
			t.Fatal(err)
		}
	}
	await("", "Healthy", 2*configs+deployments)
	change(0)
	await("", "RuleHolds", 2*configs+deployments)
	cut()
	change(1)
	await("", "Healthy", 2*configs+deployments)
	account := func(name string) string { return "system:serviceaccount:" + e.Namespace + ":" + name }
	want := map[string]int{"configmaps " + account("one"): 1, "configmaps " + account("two"): 1, "deployments.apps " + account("one"): 1}
	harness.Eventually(t, patience, func(context.Context) error {
		got := map[string]int{}
		for _, r := range proxy.Requests() {
			if r.Verb == "watch" && r.As != "" {
				got[r.Resource+" "+r.As]++
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("watches: %v, want %v", got, want)
		}
		return nil
	})
	role("two", "create")
	cut()
	await("two", "TargetUnreachable", configs)
	change(0)
	await("one", "RuleHolds", configs+deployments)
	await("two", "TargetUnreachable", configs)
	role("two", "get, list, watch")
	await("two", "RuleHolds", configs)
}
