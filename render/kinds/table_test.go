package kinds

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
)

// TestTableIsWhole checks that the table has every type that it names.
func TestTableIsWhole(t *testing.T) {
	b := table()
	if b.release == "" || len(b.kinds) < 150 {
		t.Fatalf("release %q, %d kinds", b.release, len(b.kinds))
	}
	for name, typ := range b.types {
		switch typ.kind {
		case kindStruct:
			if typ.fields == nil {
				t.Errorf("%s: named, and not in the table", name)
			}
		case kindList, kindMap, kindString, kindBool, kindInt32, kindInt64, kindNumber, kindBytes,
			kindTime, kindQuantity, kindIntOrString, kindAny:
		default:
			t.Errorf("%s: unknown kind of type %q", name, typ.kind)
		}
	}
	for gvk, k := range b.kinds {
		if k.replacement == "" {
			continue
		}
		apiVersion, kind, _ := strings.Cut(k.replacement, " ")
		if to, ok := b.kinds[schema.FromAPIVersionAndKind(apiVersion, kind)]; !ok {
			t.Errorf("%v: to be replaced by %s, which isn't there", gvk, k.replacement)
		} else if to.removed != "" && to.replacement == "" {
			t.Errorf("%v: to be replaced by %s, which is gone", gvk, k.replacement)
		}
	}
}

// TestTableIsNew compares the table with what its generator writes. To update it, run
// go generate ./render/kinds.
func TestTableIsNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	if out, err := exec.Command("go", "run", "./gen", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(builtinText, string(got)); diff != "" {
		t.Errorf("builtin.txt isn't what its generator writes (-is +would be)\n%s", diff)
	}
}

// TestScopesAreKnown checks that package graph knows the scope of every kind.
func TestScopesAreKnown(t *testing.T) {
	// Objects of these kinds are not stored, so they are never nodes.
	never := map[string]bool{"Scale": true, "TokenRequest": true, "PodStatusResult": true, "RangeAllocation": true, "ImageReview": true}
	for gvk, k := range table().kinds {
		if k.removed != "" {
			continue
		}
		if _, known := graph.ClusterScoped(gvk.GroupKind()); !known && !never[gvk.Kind] {
			t.Errorf("%v: graph.ClusterScoped doesn't know it", gvk)
		}
	}
}
