package render

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestContextsAreReplaced checks that a Renderer throws its contexts away before the
// values of many instances fill the memory. Each instance evaluates some megabytes,
// which its context keeps.
func TestContextsAreReplaced(t *testing.T) {
	m, err := Load(Source{Dir: ".", Ref: "fat", FS: fstest.MapFS{"fat.cue": {Data: []byte(`package fat
import "list"
#Input: x: int
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	_all: [for i in list.Range(0, 1000, 1) {a: i, b: "\(i)", c: {d: i}}]
	output: nodes: {}
}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform("fat", v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	var in *Instance
	for i := range Instances("app.yaml", []byte("apiVersion: pequod.io/v1alpha1\nkind: Fat\nmetadata: {name: a}\nspec: {x: 1}")) {
		in = i
	}
	in.SetNamespaces(p, "default")
	// Every instance is followed by a collection: with fewer of them, the memory would
	// depend on when they happen.
	r := &Renderer{}
	live := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, most := live(), uint64(0)
	for range maxUses / 2 {
		if res := r.Render(in, p); res.Problems.Failed() {
			t.Fatal(res.Problems)
		}
		most = max(most, live())
	}
	if grown := most - min(most, before); grown > 2*maxGrowth {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}
