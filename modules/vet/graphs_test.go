package vet_test

import (
	"io/fs"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/vet"
	"github.com/pequod-io/pequod/render"
)

// TestGraphs checks that the samples of the embedded modules have all kinds of objects that their
// test cases render: rights are computed from samples.
func TestGraphs(t *testing.T) {
	for _, name := range modules.Embedded() {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}}
			sources, err := transform.Open(t.Context(), &modules.Opener{}, name, spec, func(string) modules.Place { return modules.Place{} })
			if err != nil {
				t.Fatal(err)
			}
			p, err := sources.Load()
			if err != nil {
				t.Fatal(err)
			}
			// Far less than all samples together.
			samples, err := vet.Graphs(t.Context(), p, render.Limits{Timeout: time.Minute, Memory: 256 << 20})
			if err != nil {
				t.Fatal(err)
			}
			found := map[schema.GroupKind]bool{}
			for _, g := range samples {
				for kind := range kindsOf(g) {
					found[kind] = true
				}
			}
			files, err := modules.EmbeddedSource(name)
			if err != nil {
				t.Fatal(err)
			}
			goldens, err := fs.Glob(files, "tests/*/graph.yaml")
			if err != nil || len(goldens) == 0 {
				t.Fatal(err, goldens)
			}
			for _, golden := range goldens {
				data, err := fs.ReadFile(files, golden)
				if err != nil {
					t.Fatal(err)
				}
				g := &v1alpha1.ResourceGraph{}
				if err := yaml.Unmarshal(data, g); err != nil {
					t.Fatal(err)
				}
				for kind, id := range kindsOf(g) {
					if !found[kind] {
						t.Errorf("no sample has %s, unlike the node %s of %s", kind, id, golden)
					}
				}
			}
		})
	}
}

// kindsOf returns the kinds of the objects of a graph, with a node that has it. What a node only
// refers to is left out: an instance may choose its kind.
func kindsOf(g *v1alpha1.ResourceGraph) map[schema.GroupKind]string {
	all := map[schema.GroupKind]string{}
	read := graph.Read(g)
	for _, n := range read.Nodes {
		if n.ExternalRef == nil {
			all[n.GroupKind()] = n.ID
		}
	}
	return all
}
