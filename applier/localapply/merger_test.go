package localapply_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/localapply"
	"github.com/pequod-io/pequod/test/harness"
)

const manager = "pequod"

// pod is the part that the workloads of the table share.
const pod = `
      metadata: {labels: {app: a}}
      spec:
        containers:
        - name: web
          image: web:1
          ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]
          resources: {requests: {cpu: "0.5", memory: 1024Mi}, limits: {cpu: 1000m}}
          env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
          livenessProbe: {httpGet: {path: /, port: 80}}
        - {name: side, image: "side:1"}
        volumes:
        - {name: tmp, emptyDir: {}}
        - {name: all, projected: {sources: [{serviceAccountToken: {path: token}}]}}
`

// table has an object of each kind, and a second version of it. The new fields of
// the second version have no defaults.
var table = []struct{ kind, before, after string }{
	{"ConfigMap", `{apiVersion: v1, kind: ConfigMap, data: {a: b, c: d}}`, `{apiVersion: v1, kind: ConfigMap, data: {a: x}}`},
	{"Secret", `{apiVersion: v1, kind: Secret, data: {a: YQ==, b: Yg==}}`, `{apiVersion: v1, kind: Secret, data: {a: Yg==}}`},
	{"ServiceAccount", `{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: a}]}`, `{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: a}, {name: b}]}`},
	{"Service", `{apiVersion: v1, kind: Service, spec: {selector: {app: a}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}}`,
		`{apiVersion: v1, kind: Service, spec: {selector: {app: b}, ports: [{name: http, port: 80, targetPort: 8080}]}}`},
	{"PersistentVolumeClaim", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`,
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`},
	{"ResourceQuota", `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {requests.storage: 2048Gi, count/secrets: 100}}}`, `{apiVersion: v1, kind: ResourceQuota, spec: {hard: {requests.storage: 2Ti, count/secrets: 101}}}`},
	{"LimitRange", `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: "2000m"}}]}}`, `{apiVersion: v1, kind: LimitRange, metadata: {annotations: {a: b}}, spec: {limits: [{type: Container, max: {cpu: "2"}}]}}`},
	{"Deployment", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: a}}\n  template:" + pod,
		"apiVersion: apps/v1\nkind: Deployment\nspec:\n  selector: {matchLabels: {app: a}}\n  replicas: 3\n  template:" + strings.ReplaceAll(strings.Replace(pod, "- {name: side, image: \"side:1\"}", "", 1), "web:1", "web:2")},
	{"StatefulSet", "apiVersion: apps/v1\nkind: StatefulSet\nspec:\n  serviceName: a\n  selector: {matchLabels: {app: a}}\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]\n  template:" + pod,
		"apiVersion: apps/v1\nkind: StatefulSet\nspec:\n  serviceName: a\n  replicas: 1\n  selector: {matchLabels: {app: a}}\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n  template:" + strings.ReplaceAll(pod, "side:1", "side:2")},
	{"DaemonSet", "apiVersion: apps/v1\nkind: DaemonSet\nspec:\n  selector: {matchLabels: {app: a}}\n  template:" + pod,
		"apiVersion: apps/v1\nkind: DaemonSet\nspec:\n  selector: {matchLabels: {app: a}}\n  template:" + strings.ReplaceAll(pod, "token}}", "tokens}}")},
	{"Job", "{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}",
		"{apiVersion: batch/v1, kind: Job, spec: {suspend: true, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}"},
	{"CronJob", "{apiVersion: batch/v1, kind: CronJob, spec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}}}}}}",
		"{apiVersion: batch/v1, kind: CronJob, spec: {schedule: '0 0 1 2 *', jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: b, ports: [{containerPort: 80}]}]}}}}}}"},
	{"Ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}}`,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: b.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {name: http}}}}]}}]}}`},
	{"NetworkPolicy", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: 80, endPort: 90}, {port: 443}], from: [{podSelector: {}}]}]}}`,
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}, {port: 444}], from: [{podSelector: {}}]}]}}`},
	{"HorizontalPodAutoscaler", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "0.5"}}}]}}`,
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, maxReplicas: 4, metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]}}`},
	{"PodDisruptionBudget", `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}}`,
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {maxUnavailable: 50%, selector: {matchLabels: {app: b}}}}`},
	{"Role", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
	{"RoleBinding", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: User, name: jo}, {kind: ServiceAccount, name: a, namespace: b}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: a}, subjects: [{kind: User, name: joe}, {kind: ServiceAccount, name: a, namespace: b}]}`},
	{"Lease", `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {holderIdentity: a, leaseDurationSeconds: 10}}`, `{apiVersion: coordination.k8s.io/v1, kind: Lease, spec: {holderIdentity: b}}`},
	{"EndpointSlice", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}], ports: [{port: 80}]}`,
		`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [10.0.0.2]}], ports: [{port: 81}]}`},
	{"Gadget", `{apiVersion: v1, kind: Gadget, spec: {size: 1, parts: [{name: a, count: 1}]}}`,
		`{apiVersion: v1, kind: Gadget, spec: {parts: [{name: a, count: 2}], tags: [x]}}`},
}

// definition is a custom kind with defaults, for the last line of the table.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              mode: {type: string, default: fast}
              tags: {type: array, items: {type: string}}
              parts:
                type: array
                items:
                  type: object
                  properties: {name: {type: string}, count: {type: integer}, unit: {type: string, default: piece}}
`

// TestSameAsDryRun compares the merge with the API server's dry run, for an unchanged
// object, a changed one, and one with a conflict. It does so with the types that the
// API server publishes, and for unchanged objects also without.
func TestSameAsDryRun(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	group := c.Unique("gadgets") + ".example.com"
	c.Apply(t, strings.ReplaceAll(definition, "GROUP", group))
	published := func() (openapi.ClientWithContext, error) {
		return openapi.NewClientWithContext(c.Client.Discovery().RESTClient()), nil
	}
	typed := localapply.New(published)
	untyped := localapply.New(func() (openapi.ClientWithContext, error) { return nothing{}, nil })
	for _, test := range table {
		t.Run(test.kind, func(t *testing.T) {
			parse := func(text string) *unstructured.Unstructured {
				u := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
					t.Fatal(err)
				}
				// Through JSON as in a graph: integers are int64.
				data, err := u.MarshalJSON()
				if err == nil {
					err = u.UnmarshalJSON(data)
				}
				if err != nil {
					t.Fatal(err)
				}
				u.SetName("a-" + strings.ToLower(test.kind))
				u.SetNamespace(c.Namespace)
				if u.GetKind() == "Gadget" {
					u.SetAPIVersion(group + "/v1")
				}
				return u
			}
			before, after := parse(test.before), parse(test.after)
			client, err := c.Resource(before.GetAPIVersion(), before.GetKind(), "")
			if err != nil {
				t.Fatal(err)
			}
			apply := func(u *unstructured.Unstructured, force bool, dryRun ...string) (*unstructured.Unstructured, error) {
				return client.Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager, Force: force, DryRun: dryRun})
			}
			if _, err := apply(before, false); err != nil {
				t.Fatal(err)
			}
			compare := func(name string, m *localapply.Merger, u *unstructured.Unstructured, force bool) {
				t.Helper()
				read := func() *unstructured.Unstructured {
					live, err := client.Get(t.Context(), u.GetName(), metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					return live
				}
				// Controllers write, too: both must see the same object.
				live := read()
				want, wantErr := apply(u, force, metav1.DryRunAll)
				for after := read(); after.GetResourceVersion() != live.GetResourceVersion(); after = read() {
					live = after
					want, wantErr = apply(u, force, metav1.DryRunAll)
				}
				got, gotErr := m.Merge(t.Context(), live, u, manager, force)
				if errorText(wantErr) != errorText(gotErr) {
					t.Fatalf("%s: error %v; the API server's is %v", name, gotErr, wantErr)
				}
				if wantErr != nil {
					return
				}
				if diff := cmp.Diff(content(want), content(got)); diff != "" {
					t.Errorf("%s (-dry run +merged):\n%s", name, diff)
				}
			}
			compare("unchanged", typed, before, false)
			compare("unchanged, without types", untyped, before, false)
			compare("changed", typed, after, false)

			// Another manager changes a label that is wanted with another value.
			other := []byte(`{"metadata": {"labels": {"team": "theirs"}}}`)
			if _, err := client.Patch(t.Context(), before.GetName(), "application/merge-patch+json", other, metav1.PatchOptions{FieldManager: "other"}); err != nil {
				t.Fatal(err)
			}
			after.SetLabels(map[string]string{"team": "ours"})
			compare("conflict", typed, after, false)
			compare("conflict, forced", typed, after, true)
		})
	}
}

// nothing is a cluster that publishes no types.
type nothing struct{}

func (nothing) PathsWithContext(_ context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	return nil, nil
}

// content returns what a comparison shows of an object, as JSON: numbers have no type.
func content(u *unstructured.Unstructured) any {
	copied := u.DeepCopy().Object
	delete(copied, "status")
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
		delete(copied["metadata"].(map[string]any), name)
	}
	// The API server counts the changes of a template there.
	unstructured.RemoveNestedField(copied, "metadata", "annotations", "deprecated.daemonset.template.generation")
	data, err := json.Marshal(copied)
	if err != nil {
		panic(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	return v
}

// errorText returns the message and the causes of the API server's errors.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	var status interface{ Status() metav1.Status }
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			text += "\n" + cause.Field + ": " + cause.Message
		}
	}
	return text
}
