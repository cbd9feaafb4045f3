package render

import (
	"fmt"
	"sync"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue/ast"
	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// fleetModule has an input with a union, whose members have fields of their own.
const fleetModule = `package fleet
#Platform: kind: "Fleet"
#Input: #Small | #Large
#Common: {region: string, limits: {cpu: *"1" | string, memory?: string}}
#Small: {#Common, size: "small"}
#Large: {#Common, size: "large", nodes: *3 | int}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: spec: "\(input.spec.region)"}
}
`

// yamlValues reads a mapping.
func yamlValues(t *testing.T, text string) *ast.StructLit {
	t.Helper()
	docs, err := yamlfile.Parse("clusters.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := docs[0].Syntax()
	return e.(*ast.StructLit)
}

// TestClusters renders an instance for several clusters at once, as workers do: they share its
// syntax. The race detector tells if one of them changes it.
func TestClusters(t *testing.T) {
	m, err := Load(Source{FS: fstest.MapFS{"fleet.cue": {Data: []byte(fleetModule)}}, Dir: ".", Ref: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform("fleet", v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, spec, values string
		filled             []string
		problem            string
	}{
		{"missing", `{size: small, region: eu, limits: {}}`, `{}`, nil, ""},
		{"filled in", `{size: small, limits: {cpu: "2"}}`, `{region: eu, limits: {memory: 1Gi}}`, []string{"limits", "region"}, ""},
		{"of a member of the union", `{size: large, limits: {}, region: eu}`, `{nodes: 5}`, []string{"nodes"}, ""},
		{"of another member", `{size: small, limits: {}, region: eu}`, `{nodes: 5}`, []string{"nodes"},
			`clusters.yaml:1:2: spec.nodes: unknown field where size is "small"`},
		{"set by the instance", `{size: small, region: us, limits: {cpu: "2"}}`, `{region: 7, limits: {cpu: 7}}`, nil, ""},
		{"not of the kind", `{size: small, region: us, limits: {}}`, `{other: 7}`, nil, ""},
		{"wrong", `{size: small, limits: {}}`, `{region: 7}`, []string{"region"}, `clusters.yaml:1:10: spec.region: must be a string, not 7`},
		{"no mapping", `[]`, `{region: eu}`, nil, "app.yaml:4:1: spec: must be a mapping, not a list"},
		{"another type", `{size: small, region: us, limits: {}}`, `{limits: 7}`, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := fmt.Sprintf("apiVersion: pequod.io/v1alpha1\nkind: Fleet\nmetadata: {name: a, namespace: a}\nspec: %s\n", test.spec)
			for in, ps := range Instances("app.yaml", []byte(file)) {
				if ps.Failed() {
					t.Fatal(ps)
				}
				values := yamlValues(t, test.values)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						var filled []string
						each := in.In("eu-1", values, func(name string) { filled = append(filled, name) })
						each.SetNamespaces(p, "default")
						res := (&Renderer{}).Render(each, p)
						got := ""
						if len(res.Problems) > 0 {
							got = res.Problems[0].Position.String() + ": " + res.Problems[0].Path + ": " + res.Problems[0].Message
						}
						if got != test.problem || each.Cluster != "eu-1" {
							t.Errorf("got %q, want %q", got, test.problem)
						}
						if diff := cmp.Diff(test.filled, filled); diff != "" {
							t.Error(diff)
						}
					})
				}
				wg.Wait()
			}
		})
	}
}
