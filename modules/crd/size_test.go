package crd

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// TestSize checks that only a CRD near etcd's limit has a warning. The indentation of
// its YAML doesn't count, because the API server stores JSON.
func TestSize(t *testing.T) {
	comment := "\t// " + strings.Repeat("x", 1020) + "\n"
	const depth = 40
	var nested strings.Builder // 1.2 MiB of YAML
	for i := range 3500 {
		fmt.Fprintf(&nested, "f%d?: string\n", i)
	}
	for _, tt := range []struct {
		name, fields string
		want         int
	}{
		{"100 KiB", strings.Repeat(comment, 100), 0},
		{"1100 KiB", strings.Repeat(comment, 1100), 1},
		{"nested", strings.Repeat("g: {", depth) + nested.String() + strings.Repeat("}", depth) + "\n", 0},
	} {
		text := "package shop\n#Input: {\n" + tt.fields + "\tname: string\n}\n#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}\n"
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
		if len(made.Notes) != tt.want || tt.want > 0 && (made.Notes[0].Rule != problem.RuleSize || made.Notes[0].Severity != problem.Warning) {
			t.Errorf("%s: %v, want %d warnings", tt.name, made.Notes, tt.want)
		}
	}
}
