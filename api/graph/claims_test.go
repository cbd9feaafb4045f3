package graph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

func TestOwned(t *testing.T) {
	const nodes = `
  graph:
    nodes:
    - {id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
    - {id: b, resource: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: other}}}
    - {id: c, resource: {apiVersion: v1, kind: Namespace, metadata: {name: web, namespace: ignored}}}
    - {id: d, resource: {apiVersion: example.com/v1, kind: Unknown, metadata: {name: web}}}
    - {id: e, externalRef: {apiVersion: v1, kind: Secret, name: theirs}}
`
	all := []string{"deployment.apps shop/web", "service other/web", "namespace/web", "unknown.example.com shop/web"}
	for _, test := range []struct {
		adopt string
		want  []string
	}{
		{"", all},
		{"adopt: {labelSelector: {matchLabels: {a: b}}, mode: LabelSelector}", all},
		{"adopt: {resources: [{apiVersion: apps/v1beta1, kind: Deployment, name: web}, {apiVersion: v1, kind: Namespace, name: web}]}",
			[]string{"service other/web", "unknown.example.com shop/web"}},
		{"adopt: {strategy: Mirror, resources: [{apiVersion: v1, kind: Namespace, name: web}]}", nil},
	} {
		rg := &v1alpha1.ResourceGraph{}
		if err := yaml.UnmarshalStrict([]byte("metadata: {name: web, namespace: shop}\nspec:\n  "+test.adopt+nodes), rg); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, graph.Read(rg).Owned()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.adopt, diff)
		}
	}
}

func TestClaims(t *testing.T) {
	var c graph.Claims
	at := func(line int) problem.Position { return problem.Position{File: "apps.yaml", Line: line, Column: 1} }
	for _, test := range []struct {
		line  int
		owned []string
		want  []graph.Clash
	}{
		{1, []string{"a", "b"}, nil},
		{5, []string{"c"}, nil},
		{9, []string{"c", "d", "a"}, []graph.Clash{{Object: "c", First: at(5)}, {Object: "a", First: at(1)}}},
		{12, []string{"d"}, []graph.Clash{{Object: "d", First: at(9)}}},
	} {
		if diff := cmp.Diff(test.want, c.Add(at(test.line), test.owned)); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", test.line, diff)
		}
	}
}
