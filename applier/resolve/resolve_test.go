package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

func resolver(t testing.TB, text string) *Resolver {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace = "default"
	if err := yaml.UnmarshalStrict([]byte(text), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	g := graph.Read(rg)
	for _, p := range g.Problems() {
		// Evaluation refuses by itself what validation finds about Secrets.
		if !strings.Contains(p.String(), "Secret") {
			t.Fatal(p)
		}
	}
	r, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func live(t testing.TB, text string) Lookup {
	t.Helper()
	objects := map[string]map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &objects); err != nil {
		t.Fatal(err)
	}
	return func(id string) map[string]any { return objects[id] }
}

// config returns a graph with a ConfigMap with the given data, and with the nodes
// that the data reads.
func config(data string) string {
	return `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: ` + data + `}
- id: service
  resource: {apiVersion: v1, kind: Service, metadata: {name: service}}
- id: secret
  resource: {apiVersion: v1, kind: Secret, metadata: {name: secret}}
- id: external
  externalRef: {apiVersion: v1, kind: ConfigMap, name: other}
`
}

const liveObjects = `
service:
  spec: {clusterIP: 10.0.0.1, ports: [{name: http}, {name: metrics}], odd: {$from: service.spec}}
secret:
  apiVersion: v1
  kind: Secret
  metadata:
    uid: u1
    annotations: {kubectl.kubernetes.io/last-applied-configuration: "aHVudGVyMg==", other: kept}
  data: {password: aHVudGVyMg==}
`

func TestObject(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"no reference", `{a: b, c: "${HOME}"}`, `{a: b, c: "${HOME}"}`},
		{"values", `{ip: {$from: service.spec.clusterIP}, list: [a, {$from: "service.spec.ports[0].name"}, b]}`,
			`{ip: 10.0.0.1, list: [a, http, b]}`},
		{"whole field", `{$from: "{'ip': service.spec.clusterIP}"}`, `{ip: 10.0.0.1}`},
		{"what is read is data", `{a: {$from: service.spec.odd}, b: {$from: service.spec.clusterIP}}`,
			`{a: {$from: service.spec}, b: 10.0.0.1}`},
		{"left out", `{a: {$from: "service.?spec.?none"}, b: c}`, `{b: c}`},
		{"elements left out", `{l: [a, {$from: "service.?a"}, {$from: service.spec.clusterIP}, {$from: "service.?b"}, {x: {$from: "service.?c"}}]}`,
			`{l: [a, 10.0.0.1, {}]}`},
		{"a Secret's other fields", `{uid: {$from: secret.metadata.uid}, a: {$from: secret.metadata.annotations.other}}`,
			`{uid: u1, a: kept}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := resolver(t, config(test.data))
			objects := live(t, liveObjects)
			got, err := r.Object(0, objects)
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(live(t, liveObjects)("secret"), objects("secret")); diff != "" {
				t.Errorf("the live object changed:\n%s", diff)
			}
		})
	}
}

func TestObjectErrors(t *testing.T) {
	const hidden = "values of the Secret of node secret may only be read into data or stringData of a Secret"
	for _, test := range []struct {
		name, data string
		want       error
	}{
		{"field", `{a: {$from: "service.status.loadBalancer.ingress[0].ip"}}`, &WaitError{
			Node: "config", Path: "resource.data.a", Expr: "service.status.loadBalancer.ingress[0].ip",
			Reads: []string{"service"}, Message: "waits for service.status",
		}},
		{"no object", `{a: {$from: external.data.a}}`, &WaitError{
			Node: "config", Path: "resource.data.a", Expr: "external.data.a",
			Reads: []string{"external"}, Message: "waits for external",
		}},
		{"all that wait are read", `{a: {$from: external.data.a}, b: {$from: service.status}, c: {$from: service.x}}`, &WaitError{
			Node: "config", Path: "resource.data.a", Expr: "external.data.a",
			Reads: []string{"external", "service"}, Message: "waits for external",
		}},
		{"an error before a wait", `{a: {$from: external.data.a}, b: {$from: "service.spec.clusterIP + 1"}}`, &EvalError{
			Node: "config", Path: "resource.data.b", Expr: "service.spec.clusterIP + 1",
			Message: "+ doesn't take a string and a number",
		}},
		{"a Secret's value", `{a: {$from: dyn(secret).data.password}}`, &EvalError{
			Node: "config", Path: "resource.data.a", Expr: "dyn(secret).data.password", Message: hidden,
		}},
		{"a Secret's values", `{a: {$from: secret.data}}`, &EvalError{
			Node: "config", Path: "resource.data.a", Expr: "secret.data", Message: hidden,
		}},
		{"whether a Secret has a key", `{a: {$from: has(secret.data.password)}}`, &EvalError{
			Node: "config", Path: "resource.data.a", Expr: "has(secret.data.password)", Message: hidden,
		}},
		{"the keys of a Secret", `{a: {$from: "secret.data.map(k, k)"}}`, &EvalError{
			Node: "config", Path: "resource.data.a", Expr: "secret.data.map(k, k)", Message: hidden,
		}},
		{"all of a Secret", `{a: {$from: "[secret]"}}`, &EvalError{
			Node: "config", Path: "resource.data.a", Expr: "[secret]", Message: hidden,
		}},
		{"a Secret's copy", `{a: {$from: 'secret.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]'}}`, &WaitError{
			Node: "config", Path: "resource.data.a", Expr: `secret.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`,
			Reads: []string{"secret"}, Message: `waits for secret.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := resolver(t, config(test.data)).Object(0, live(t, liveObjects))
			if got != nil {
				t.Errorf("got %v", got)
			}
			if diff := cmp.Diff(test.want, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorLine(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&WaitError{Node: "web", Path: "resource.spec.ip", Expr: "a.b", Message: "waits for a.b"}, "node web: resource.spec.ip: waits for a.b"},
		{&EvalError{Node: "web", Path: "resource.spec.ip", Expr: "a\n  + 1", Message: "is wrong"}, "node web: resource.spec.ip: is wrong (in a + 1)"},
		{&EvalError{Path: "outputs.ip", Expr: "a", Message: "is wrong"}, "outputs.ip: is wrong (in a)"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestReads(t *testing.T) {
	r := resolver(t, config(`{a: {$from: service.x}}`)+"outputs: {b: {$from: external.y}}\n")
	if diff := cmp.Diff(map[string]bool{"service": true, "external": true}, r.Reads()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkObjects(b *testing.B) {
	const nodes = 400
	var plain, reading strings.Builder
	plain.WriteString("nodes:\n")
	reading.WriteString("nodes:\n")
	objects := map[string]map[string]any{}
	for i := range nodes {
		const object = `
- id: n%d
  resource:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: n%d, labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: n%d}}
    spec:
      replicas: 1
      selector: {matchLabels: {app.kubernetes.io/instance: n%d}}
      template:
        metadata: {labels: {app.kubernetes.io/instance: n%d}}
        spec: {containers: [{name: app, image: example.com/app:1, ports: [{containerPort: 8080}], env: [{name: PEER, value: %s}]}]}
`
		peer := "none"
		if i > 0 {
			peer = fmt.Sprintf(`{$from: "n%d.status.ip + ':' + string(n%d.spec.replicas)"}`, i-1, i-1)
		}
		fmt.Fprintf(&plain, object, i, i, i, i, i, "none")
		fmt.Fprintf(&reading, object, i, i, i, i, i, peer)
		objects[fmt.Sprint("n", i)] = map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"ip": "10.0.0.1"},
		}
	}
	at := func(id string) map[string]any { return objects[id] }
	all := func(b *testing.B, r *Resolver) {
		r.BeginStep() // otherwise the cost of all rounds counts as one step
		for i := range nodes {
			if _, err := r.Object(i, at); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, bench := range []struct{ name, text string }{{"plain", plain.String()}, {"references", reading.String()}} {
		r := resolver(b, bench.text)
		b.Run(bench.name+"/first", func(b *testing.B) {
			for b.Loop() {
				fresh, err := New(r.graph)
				if err != nil {
					b.Fatal(err)
				}
				all(b, fresh)
			}
		})
		b.Run(bench.name+"/again", func(b *testing.B) {
			for b.Loop() {
				all(b, r)
			}
		})
	}
}
