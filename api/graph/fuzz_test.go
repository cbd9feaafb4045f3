package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// FuzzCheck checks graphs of any form, as the API server or a file could have them. The same problems
// are found each time, and in a graph without problems each node is in one wave.
func FuzzCheck(f *testing.F) {
	f.Add(sound)
	f.Add("nodes: [{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: {$from: b.data.x}}}}, {id: b, dependencies: [a]}]")
	f.Add("nodes: [{id: a, resource: {apiVersion: v1, kind: Secret, metadata: {name: a, labels: {x: {$generate: {length: -1}}}}}}]\noutputs: {x: {$from: a.data.x}}")
	f.Add("nodes: [{id: nodes, resource: [1], readyWhen: [{type: Expression, expr: 'object[0](('}]}, {id: '', externalRef: {}}]")
	f.Add("nodes: [{id: d, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {names: 3, versions: {}}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		read := func() *v1alpha1.ResourceGraph {
			rg := &v1alpha1.ResourceGraph{}
			rg.Name, rg.Namespace = "web", "team"
			if err := yaml.Unmarshal([]byte(text), &rg.Spec.Graph); err != nil {
				t.Skip("no graph")
			}
			return rg
		}
		rg := read()
		g := Read(rg)
		problems := g.Problems()
		if diff := cmp.Diff(problems, Check(read())); diff != "" {
			t.Errorf("the problems differ (-first +second):\n%s", diff)
		}
		if _, err := RenderHash(rg.Spec.Graph); err != nil && len(problems) == 0 {
			t.Errorf("the hash: %v", err)
		}
		if len(problems) > 0 {
			return
		}
		waves, err := g.Waves()
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, wave := range waves {
			for _, id := range wave {
				count[id]++
			}
		}
		for i := range g.Nodes {
			if id := g.Nodes[i].ID; count[id] != 1 {
				t.Errorf("node %q is in %d waves", id, count[id])
			}
		}
	})
}
