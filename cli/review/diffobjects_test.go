package review

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/review"
)

// TestDiffShares checks that the second side of a comparison keeps in memory only what differs from the first one:
// nothing of an equal file, and the changed objects of another one.
func TestDiffShares(t *testing.T) {
	const changed = 100
	tree := func(side string) (all []files.TreeFile) {
		for i := range 200 {
			var b bytes.Buffer
			for n := range 20 {
				image := "a"
				if side == "new" && i < changed && n == 0 {
					image = "b"
				}
				fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d-%d-%d, labels: {a: b, c: d, e: f}}\nspec: {replicas: 2, template: {spec: {containers: [{name: x, image: %s, ports: [{containerPort: 80}]}]}}}\n", i, n, image)
			}
			all = append(all, files.TreeFile{Name: fmt.Sprintf("%s/%d.yaml", side, i), Path: fmt.Sprintf("%d.yaml", i), Data: b.Bytes()})
		}
		return all
	}
	live := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	oldFiles, newFiles := tree("old"), tree("new")
	read := func(files []files.TreeFile, both shared) (review.Tree, int) {
		start := live()
		side, err := objectsOf("x", files, both)
		if err != nil {
			t.Fatal(err)
		}
		return side, live() - start
	}
	both := newShared(oldFiles, newFiles)
	if len(both.units) != len(oldFiles)-changed {
		t.Errorf("%d equal files", len(both.units))
	}
	before, first := read(oldFiles, both)
	after, second := read(newFiles, both)
	if second > first/5 { // lists of units and keys
		t.Errorf("the first side takes %d bytes, and the second one %d", first, second)
	}
	for i, u := range after.Units {
		file := newFiles[i/20].Name
		if was := before.Units[i]; u.File != file || u.At.File != file || u.At.Line != was.At.Line || was.File != oldFiles[i/20].Name || was.At.File != was.File {
			t.Fatalf("unit %d: %s at %s, before %s at %s", i, u.File, u.At, was.File, was.At)
		}
	}
	r, err := review.New(before, after, nil)
	if err != nil || len(r.Instances) != changed {
		t.Errorf("%d changed, %v", len(r.Instances), err)
	}
	runtime.KeepAlive(oldFiles)
}
