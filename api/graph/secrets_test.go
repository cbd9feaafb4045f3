package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestLiteralSecretKeys(t *testing.T) {
	for _, test := range []struct {
		name, object string
		want         []string
	}{
		{"literal", "{apiVersion: v1, kind: Secret, data: {b: eA==, a: eA==}, stringData: {c: x}}", []string{"data.a", "data.b", "stringData.c"}},
		{"late", "{apiVersion: v1, kind: Secret, data: {a: {$from: x.y}}, stringData: {b: {$generate: {length: 3}}, c: x, d: null}}", []string{"stringData.c"}},
		{"all late", "{apiVersion: v1, kind: Secret, data: {$from: x.data}}", nil},
		{"odd", "{apiVersion: v1, kind: Secret, data: text, stringData: {a: {b: c}}}", []string{"data", "stringData.a"}},
		{"none", "{apiVersion: v1, kind: Secret, type: Opaque}", nil},
		{"another kind", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", nil},
		{"another group", "{apiVersion: example.com/v1, kind: Secret, data: {a: b}}", nil},
		{"nothing", "{}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, LiteralSecretKeys(object)); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretReads(t *testing.T) {
	got := problemLines(Check(parse(t, `
nodes:
- {id: db, resource: {apiVersion: v1, kind: Secret, metadata: {name: db}}}
- {id: other-db, externalRef: {apiVersion: v1, kind: Secret, name: other}}
- {id: shared, externalRef: {apiVersion: v1, kind: ConfigMap, name: map}}
- id: copy
  resource:
    apiVersion: v1
    kind: Secret
    metadata: {name: copy, labels: {a: {$from: db.data.password}}}
    data: {a: {$from: db.data.password}}
    stringData: {a: {$from: 'nodes["other-db"].stringData.a'}}
- id: config
  resource:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: config, annotations: {uid: {$from: db.metadata.uid}, has: {$from: string(has(db.data.password))}}}
    data: {a: {$from: "'x' + shared.data.a + nodes['other-db'].?data.?a.orValue('')"}, b: {$from: shared.data.b}, c: {$from: "string(size(db.data))"}}
- {id: all, resource: {apiVersion: v1, kind: Secret, metadata: {name: all}, data: {$from: db.data}}}
- id: mapped
  resource: {apiVersion: v1, kind: Secret, metadata: {name: mapped}, data: {$from: "{db.data.a: 'eA=='}"}, stringData: {b: {$from: dyn(db).data.a}}}
- id: oracle
  externalRef: {apiVersion: v1, kind: Secret, name: oracle}
  readyWhen:
  - {type: Expression, expr: object.metadata.name != ''}
  - {type: Expression, expr: "object.data.password.startsWith('c')"}
outputs:
  password: {$from: db.data.password}
  uid: {$from: db.metadata.uid}
`)))
	want := []string{
		"node copy: resource.metadata.labels.a: reads data.password of the Secret db (values of Secrets may only be read into data or stringData of a Secret)",
		"node config: resource.data.a: reads data.a of the Secret other-db (values of Secrets may only be read into data or stringData of a Secret)",
		"node config: resource.data.c: reads data of the Secret db (" + secretKeyHint + ")",
		"node config: resource.metadata.annotations.has: reads data of the Secret db (" + secretKeyHint + ")",
		"node all: resource.data: reads data of the Secret db (" + secretKeyHint + ")",
		"node mapped: resource.data: reads data.a of the Secret db (" + secretKeyHint + ")",
		"node mapped: resource.stringData.b: reads the whole Secret db (" + secretKeyHint + ")",
		"node oracle: readyWhen[1].expr: reads data.password of a Secret (whether a graph is ready must not depend on values of Secrets)",
		"outputs.password: reads data.password of the Secret db (values of Secrets never go into outputs)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func problemLines(problems []Problem) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}
