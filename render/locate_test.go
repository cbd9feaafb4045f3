package render

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestLocate marks the values that set fields with comments, and asks for their positions.
func TestLocate(t *testing.T) {
	files := map[string]string{
		"cue.mod/module.cue": "module: \"example.com/m@v0\"\nlanguage: version: \"v0.9.0\"\n",
		"lib/lib.cue": `package lib
#Deployment: {
	kind: "Deployment"
	spec: strategy: type: *"Recreate" | string // imported
	spec: {minReadySeconds: 1, ...}
	...
}
`,
		"module.cue": `package m
import "example.com/m/lib"
#Input: {image: string, replicas: *2 | int, env: {[string]: string}, extra: {...}}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	_labels: {
		app: input.metadata.name // hidden
	}
	output: nodes: app: {
		resource: lib.#Deployment & {
			apiVersion: "apps/v1"
			metadata: {
				name: input.metadata.name
				labels: _labels
			}
			spec: {
				replicas: input.spec.replicas // default
				if input.spec.replicas > 1 {
					paused: true // comprehension
				}
				template: spec: containers: [{
					name: "app"
					image: input.spec.image // item
					env: [for k, v in input.spec.env {
						name: k
						value: v // looped
					}]
				}, if input.spec.replicas > 1 {
					name: "second"
					image: "x" // second
				}]
				extra: input.spec.extra // instance
				choice: *{a: 1} | {b: 2} // union
			}
		}
		readyWhen: [{type: "ConditionMatch", conditionType: "Ready"}] // settings
	}
}
`,
	}
	fs := fstest.MapFS{}
	marks := map[string]string{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
		for i, line := range strings.Split(text, "\n") {
			if _, mark, ok := strings.Cut(line, "// "); ok {
				marks[mark] = fmt.Sprintf("%s:%d", name, i+1)
			}
		}
	}
	m, err := Load(Source{FS: fs, Dir: ".", Ref: "m"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform("web", v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, mark string }{
		{"resource.spec.replicas", "default"},
		{"resource.spec.paused", "comprehension"},
		{"resource.spec.strategy.type", "imported"},
		{"resource.metadata.labels.app", "hidden"},
		{"resource.spec.template.spec.containers[0].image", "item"},
		{"resource.spec.template.spec.containers[0].env[0].value", "looped"},
		{"resource.spec.template.spec.containers[1].image", "second"},
		{"resource.spec.extra.depth.more", "instance"},
		{"resource.spec.choice.a", "union"},
		{"readyWhen[0].conditionType", "settings"},
	}
	var fields []NodeField
	for _, test := range tests {
		fields = append(fields, NodeField{"app", test.path})
	}
	const text = "apiVersion: pequod.io/v1alpha1\nkind: Web\nmetadata: {name: a, namespace: b}\nspec: {image: i, env: {A: x}, extra: {depth: {more: 1}}}\n"
	for in, ps := range Instances("app.yaml", []byte(text)) {
		if ps = append(ps, in.SetNamespaces(p, "default")...); ps.Failed() {
			t.Fatal(ps)
		}
		if res := (&Renderer{}).Render(in, p); res.Problems.Failed() {
			t.Fatal(res.Problems)
		}
		for i, at := range (&Renderer{}).Locate(in, p, fields) {
			if got := fmt.Sprintf("%s:%d", at.File, at.Line); !strings.HasSuffix(got, marks[tests[i].mark]) {
				t.Errorf("%s: at %s, want %s", tests[i].path, got, marks[tests[i].mark])
			}
		}
	}
}
