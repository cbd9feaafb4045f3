package crd

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// TestSize checks that only a CRD near etcd's limit has a warning.
func TestSize(t *testing.T) {
	for kib, want := range map[int]int{100: 0, 1100: 1} {
		comment := strings.Repeat("\t// "+strings.Repeat("x", 1020)+"\n", kib)
		text := "package shop\n#Input: {\n" + comment + "\tname: string\n}\n#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}\n"
		m, err := render.Load(render.Source{FS: fstest.MapFS{"shop.cue": {Data: []byte(text)}}, Dir: ".", Ref: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := render.NewPlatform("shop", v1alpha1.TransformSpec{}, m)
		if err != nil {
			t.Fatal(err)
		}
		made, err := Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(made.Notes) != want || want > 0 && (made.Notes[0].Rule != problem.RuleSize || made.Notes[0].Severity != problem.Warning) {
			t.Errorf("%d KiB: %v, want %d warnings", kib, made.Notes, want)
		}
	}
}
