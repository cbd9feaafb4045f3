package kinds

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func lines(problems problem.List) []string {
	var all []string
	for _, p := range problems {
		all = append(all, fmt.Sprintf("%d %s: %s", p.Severity, p.Path, p.Message))
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
		{"wrong type", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: "3", selector: {}, template: {}}}`,
			[]string{"0 spec.replicas: must be an integer, not a string"}},
		{"fields that must be given", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: null, template: {spec: {containers: [{image: x}, {name: $from, ports: [{name: x}]}]}}}}`,
			[]string{
				"0 spec.selector: missing", "0 spec.template.spec.containers[0].name: missing",
				"0 spec.template.spec.containers[1].ports[0].containerPort: missing",
			}},
		{"fields that are known in the cluster", `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {$from: a.b}, template: {$from: a.b}}}`, nil},
		{"a slip explains what is missing", `{apiVersion: v1, kind: Pod, spec: {container: []}}`, []string{"0 spec.container: unknown field"}},
		{"fields that the API server fills in", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}, subjects: [{kind: User, name: b}]}`, nil},
		{"booleans and zeros", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: x, livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: x}]}}}]}}`, nil},
		{"enumerations", `{apiVersion: v1, kind: Pod, spec: {restartPolicy: Allways, dnsPolicy: "", containers: [{name: x, imagePullPolicy: Always, ports: [{containerPort: 1, protocol: tcp}]}]}}`,
			[]string{`0 spec.containers[0].ports[0].protocol: "tcp" is not one of "SCTP", "TCP", "UDP"`, `0 spec.restartPolicy: "Allways" is not one of "Always", "Never", "OnFailure"`}},
		{"aggregated APIs", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x}, spec: {group: x, version: v1, groupPriorityMinimum: 1, services: {}}}`,
			[]string{"0 spec.services: unknown field", "0 spec.versionPriority: missing"}},
		{"an aggregated API that is gone", `{apiVersion: apiregistration.k8s.io/v1beta1, kind: APIService, metadata: {name: v1.x}}`,
			[]string{"0 apiVersion: apiregistration.k8s.io/v1beta1 APIService is gone since Kubernetes 1.22"}},
		{"a version that is gone", `{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: a}}`,
			[]string{"0 apiVersion: extensions/v1beta1 Ingress is gone since Kubernetes 1.22"}},
		{"a kind of somebody's own", `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`,
			[]string{"2 kind: example.com/v1 Thing is not checked: its schema isn't known"}},
		{"nulls stand for nothing", `{apiVersion: v1, kind: Pod, metadata: null, spec: {containers: [{name: x, ports: null}]}}`, nil},
		{"whole numbers written as floats", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3.0, selector: {}, template: {}}}`, nil},
		{"no late reference beside other keys", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: {$from: a.b, x: 1}, selector: {}, template: {}}}`,
			[]string{"0 spec.replicas: must be an integer, not a struct"}},
		{"quantities", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gb, a: 1, b: 1.5, c: 10Gi, d: true}}}}`,
			[]string{
				`0 spec.resources.requests.d: must be a quantity such as 2, "500m" or "1Gi", not a boolean`,
				`0 spec.resources.requests.storage: "1Gb" is not a quantity such as 2, "500m" or "1Gi"`,
			}},
		{"maps and lists", `{apiVersion: v1, kind: Service, metadata: {labels: [a]}, spec: {ports: {port: 80}, selector: {a: 1}}}`,
			[]string{
				"0 metadata.labels: must be a struct, not a list", "0 spec.ports: must be a list, not a struct",
				"0 spec.selector.a: must be a string, not an integer",
			}},
		{"fields of any type", `{apiVersion: apps/v1, kind: ControllerRevision, data: {a: [1, {b: c}]}, revision: 1}`, nil},
		{"case counts", `{apiVersion: v1, kind: ConfigMap, Data: {a: b}}`, []string{"0 Data: unknown field"}},
		{"not an apiVersion", `{apiVersion: a/b/c, kind: Thing}`, []string{"0 apiVersion: unexpected GroupVersion string: a/b/c"}},
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
