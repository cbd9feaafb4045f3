package render

import (
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"
)

func TestCheckPartial(t *testing.T) {
	const (
		config = `{apiVersion: "v1", kind: "ConfigMap", metadata: name: "x"}`
		node   = `resource: ` + config
	)
	for _, test := range []struct {
		name, output string
		want         []string
	}{
		{"right", `nodes: a: ` + node, nil},
		{"names that may be one", `nodes: {a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: text}, b: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: text}}`, nil},
		{"names that are one", `nodes: {a: ` + node + `, b: ` + node + `}`, []string{"nodes.b.resource: ConfigMap default/x is also node a"}},
		{"unknown field", `nodes: a: {` + node + `, dependancies: []}`, []string{"nodes.a.dependancies: unknown field"}},
		{"unknown field beside what may be there", `nodes: a: {` + node + `, dependancies: [], if flag {readyWhen: []}}`, []string{"nodes.a.dependancies: unknown field"}},
		{"no name", `nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: {}}`, []string{"nodes.a.resource: has no metadata.name"}},
		{"a name that may be there", `nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: {if flag {name: "x"}}}`, nil},
		{"no name, whatever else may be there", `nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: {}, if flag {data: a: "b"}}`, nil},
		{"neither", `nodes: a: {dependencies: []}`, []string{"nodes.a: has neither resource nor externalRef"}},
		{"neither that is known", `nodes: a: {dependencies: [], if flag {` + node + `}}`, nil},
		{"no node", `nodes: a: {` + node + `, dependencies: ["b", text]}`, []string{`nodes.a.dependencies[0]: no node "b"`}},
		{"a node that may be there", `nodes: {a: {` + node + `, dependencies: ["b"]}, if flag {b: ` + node + `}}`, nil},
		{"a node whose id isn't known", `nodes: {a: {` + node + `, dependencies: ["b"]}, "\(text)": ` + node + `}`, nil},
		{"dependencies that aren't known", `nodes: a: {` + node + `, dependencies: ["b", if flag {"c"}]}`, nil},
		{"itself", `nodes: a: {` + node + `, dependencies: ["a"]}`, []string{"nodes.a.dependencies[0]: depends on itself"}},
		{"a cycle", `nodes: {a: {` + node + `, dependencies: ["b"]}, b: {resource: {apiVersion: "v1", kind: "Secret", metadata: name: text}, dependencies: ["a"]}}`,
			[]string{"nodes.a.dependencies[0]: cycle: a → b → a"}},
		{"type of readiness", `nodes: a: {` + node + `, readyWhen: [{type: "Exist"}, {type: text}, {type: "ConditionMatch"}, {type: "ConditionMatch", if flag {conditionType: "x"}}]}`,
			[]string{`nodes.a.readyWhen[0].type: unknown type "Exist"`, "nodes.a.readyWhen[2].conditionType: is missing"}},
		{"expressions", `nodes: a: {` + node + `, readyWhen: [{type: "Expression", expr: "objct.x"}, {type: "Expression", expr: text}]}`,
			[]string{`nodes.a.readyWhen[0].expr: no variable "objct"`}},
		{"late references", `nodes: {a: {resource: ` + config + ` & {_, data: {x: "$from": "b.spec.x", y: "$from": text, z: "$from": "c.d +"}}}, if flag {d: ` + node + `}}`,
			[]string{"nodes.a.resource.data.z: column 6: syntax error: unexpected end"}},
		{"from", `nodes: a: {` + node + `, from: {"data.x": text, "data.y": "b.c"}}`, []string{`nodes.a.resource.data.y: no node "b"`}},
		{"outputs", `nodes: a: ` + node + `, outputs: {x: "$from": "b.c", y: "$from": text, z: text}`, []string{`outputs.x: no node "b"`}},
		{"policy", `nodes: a: {` + node + `, applyPolicy: {mode: "Creat", timeout: text, recreate: "Alway"}}`,
			[]string{`nodes.a.applyPolicy.mode: unknown mode "Creat"`, `nodes.a.applyPolicy.recreate: unknown policy "Alway"`}},
		{"generated", `nodes: a: {resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x", stringData: x: "$generate": length: 8}, applyPolicy: mode: text}`, nil},
		{"generated, and applied", `nodes: a: resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x", stringData: x: "$generate": length: 8}`,
			[]string{"nodes.a.resource.stringData.x: $generate is not allowed here"}},
		{"list of nodes", `nodes: [{id: "a", object: {apiVersion: "v1", kind: "ConfigMap", metadata: {}}, dependsOn: ["b", text]}, {id: text, ` + node + `}]`,
			[]string{"nodes.a.resource: has no metadata.name", `nodes.a.dependencies[0]: no node "b"`}},
		{"wrong kinds", `nodes: a: {resource: text, dependencies: text, readyWhen: {}}`,
			[]string{"nodes.a.dependencies: must be a list, not string", "nodes.a.readyWhen: must be a list, not struct", "nodes.a: has neither resource nor externalRef"}},
		{"kinds that aren't known", `nodes: a: {resource: [if flag {"x"}, ` + config + `][0], dependencies: null | [...string], readyWhen: _}`, nil},
		{"strings that say nothing", `nodes: a: {resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "nothing"}, dependencies: ["nothing"], readyWhen: [{type: "nothing"}]}`, nil},
		{"what is another's", `nodes: a: {_meta: {if flag {name: "x"}}, resource: {apiVersion: "v1", kind: "ConfigMap", metadata: _meta}}`, nil},
		{"lists of which a part is known", `nodes: a: {resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", list: ["a", if flag {"b"}], ref: _l}, _l: [{a: 1}, if flag {a: 2}]}`, nil},
		{"nodes of which a part is known", `nodes: [{id: "a", ` + node + `, dependencies: ["b"]}, if flag {id: "b", ` + node + `}]`, nil},
		{"a misspelt part", `node: a: ` + node, []string{"node: unknown field"}},
		{"nothing", `if flag {nodes: a: ` + node + `}`, nil},
		{"refused", `nodes: a: {}, violations: [{message: "no"}]`, nil},
		{"warned", `nodes: a: {}, violations: [{message: "no", severity: "Warning"}]`, []string{"nodes.a: has neither resource nor externalRef"}},
		{"it may be refused", `nodes: a: {}, violations: [if flag {message: "no"}]`, []string{"nodes.a: has neither resource nor externalRef"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := cuecontext.New().CompileString("flag: bool, text: string, output: {" + test.output + "}")
			var got []string
			for _, p := range CheckPartial(v.LookupPath(cue.ParsePath("output")), func(s string) bool { return s == "nothing" }) {
				got = append(got, p.Path+": "+p.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
