package graph_test

import (
	"testing"
	"sync"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"sigs.k8s.io/yaml"
)

func TestZZ(t *testing.T) {
	rg := &v1alpha1.ResourceGraph{}
	if err := yaml.Unmarshal([]byte(`{spec: {graph: {nodes: [{id: a, resource: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {a: {$from: "bb.c"}, b: {$from: "type(b.x) == string"}}}}, {id: b, externalRef: {apiVersion: v1, kind: Pod, name: b}, readyWhen: [{type: Expression, expr: "object.x"}]}]}}}`), rg); err != nil { t.Fatal(err) }
	var wg sync.WaitGroup
	for range 8 { wg.Add(1); go func(){ defer wg.Done(); for range 50 { if p := graph.Check(rg); len(p) != 1 { t.Error(p) } } }() }
	wg.Wait()
}
