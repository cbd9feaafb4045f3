package kinds

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func lines(problems []Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, fmt.Sprintf("%d %s: %s", p.Level, p.Path, p.Message))
	}
	return all
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"right", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: z}}, data: {k: v}}`, nil},
		{"late references stand for anything", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: {$from: s.spec.x}}}`, nil},
		{"unknown field", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, date: {}}`, []string{"0 date: unknown field"}},
		{"unknown field in a list", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, targetport: 1}]}}`,
			[]string{"0 spec.ports[0].targetport: unknown field"}},
		{"integer or string", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, targetPort: http}]}}`, nil},
		{"wrong type", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: "3"}}`,
			[]string{"0 spec.replicas: must be an integer, not a string"}},
		{"a version that is gone", `{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: a}}`,
			[]string{"0 apiVersion: extensions/v1beta1 Ingress is gone since Kubernetes 1.22"}},
		{"a kind of somebody's own", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`,
			[]string{"2 kind: example.com/v1 Thing is not checked: its schema isn't known"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines((&Catalog{}).Check(parse(t, test.object)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReady(t *testing.T) {
	for _, test := range []struct {
		apiVersion, kind string
		check            v1alpha1.ReadyType
		holds            bool
	}{
		{"apps/v1", "Deployment", v1alpha1.ReadyDeploymentAvailable, true},
		{"apps/v1", "StatefulSet", v1alpha1.ReadyDeploymentAvailable, false},
		{"batch/v1", "Job", v1alpha1.ReadyJobComplete, true},
		{"batch/v1", "CronJob", v1alpha1.ReadyJobComplete, false},
		{"v1", "ConfigMap", v1alpha1.ReadyLoadBalancer, false},
		{"v1", "ConfigMap", v1alpha1.ReadyExists, true},
	} {
		found := (&Catalog{}).Ready(Subject{APIVersion: test.apiVersion, Kind: test.kind}, []v1alpha1.ReadyCheck{{Type: test.check}})
		if holds := len(found) == 0; holds != test.holds {
			t.Errorf("%s on %s %s: %v", test.check, test.apiVersion, test.kind, found)
		}
	}
}
