package vet

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// module returns the text of a module with the given schema, the given output of
// #Render, and more declarations.
func module(input, output string, more ...string) string {
	return "package shop\nimport (\"list\", \"struct\")\n_l: list.MinItems, _s: struct.MinFields\n#K: =~\"^[a-z]+$\"\n#I: {name: string}\n#Platform: kind: \"Shop\"\n#Input: {" + input + "}\n" +
		"#Render: {\n\tinput: {metadata: {name: string, namespace: string, labels?: {...}}, spec: #Input}\n" + output + "\n}\n" + strings.Join(more, "\n")
}

func load(t *testing.T, text string) *render.Platform {
	t.Helper()
	m, err := render.Load(render.Source{FS: fstest.MapFS{"shop.cue": {Data: []byte(text)}}, Dir: ".", Ref: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := render.NewPlatform("shop", v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var levels = map[problem.Severity]string{problem.Warning: "warning", problem.Note: "note"}

// found formats problems without their positions.
func found(problems problem.List) []string {
	var all []string
	for _, p := range problems {
		line := p.Path + ": " + p.Message
		if p.Hint != "" {
			line += "; " + p.Hint
		}
		if p.Severity != problem.Error {
			line = levels[p.Severity] + " " + line
		}
		all = append(all, line)
	}
	return all
}

func check(t *testing.T, text string, want []string) {
	t.Helper()
	problems, err := Module(load(t, text), Options{Catalog: &kinds.Catalog{}}, func(run func()) error { run(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found(problems)); diff != "" {
		t.Error(diff)
	}
}

// TestGuard checks that an error of the guard function ends the check.
func TestGuard(t *testing.T) {
	p := load(t, module(`on: bool`, `output: nodes: {if input.spec.on {a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x"}}}`))
	enough := errors.New("enough")
	for most := range 8 {
		runs := 0
		_, err := Module(p, Options{Catalog: &kinds.Catalog{}}, func(run func()) error {
			if runs == most {
				return enough
			}
			runs++
			run()
			return nil
		})
		if !errors.Is(err, enough) || runs != most {
			t.Errorf("after %d of %d evaluations: %v", runs, most, err)
		}
	}
}

// TestBranches checks that errors in one branch are reported, and that combinations
// of branches that exclude each other are not evaluated.
func TestBranches(t *testing.T) {
	const gate = `readyWhen: [{type: "ServiceLoadBalancerReady"}]`
	service := func(spec string) string {
		return `resource: {apiVersion: "v1", kind: "Service", metadata: name: "x", spec: {` + spec + `}}`
	}
	gated := []string{"nodes.s.readyWhen[0].type: ServiceLoadBalancerReady can't hold for a Service of type ClusterIP; make it LoadBalancer, or leave the check out"}
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"opposite branches", `public: *false | bool`,
			`output: nodes: s: {` + service(`if input.spec.public {type: "LoadBalancer"}, if !input.spec.public {type: "ClusterIP"}`) + `, if input.spec.public {` + gate + `}}`, nil},
		{"no default", `public: bool`,
			`output: nodes: s: {` + service(`if input.spec.public {type: "LoadBalancer"}`) + `, if input.spec.public {` + gate + `}}`, nil},
		{"the wrong branch", `public: bool`,
			`output: nodes: s: {` + service(`if input.spec.public {type: "LoadBalancer"}`) + `, if !input.spec.public {` + gate + `}}`, gated},
		{"a type by a list of two", `public: *false | bool`,
			`output: nodes: s: {` + service(`type: [if input.spec.public {"LoadBalancer"}, "ClusterIP"][0]`) + `, if input.spec.public {` + gate + `}}`, nil},
		{"a condition that implies the other", `public: *false | bool, port: *80 | int`,
			`output: nodes: s: {` + service(`if input.spec.public {type: "LoadBalancer"}`) + `, if input.spec.public && input.spec.port > 80 {` + gate + `}}`, nil},
		{"a condition that doesn't", `public: *false | bool, port: *80 | int`,
			`output: nodes: s: {` + service(`if input.spec.public {type: "LoadBalancer"}`) + `, if input.spec.public || input.spec.port > 80 {` + gate + `}}`, gated},
		{"by a let", `public: *false | bool, port: *80 | int`,
			`let open = input.spec.public && input.spec.port != 80
			output: nodes: s: {` + service(`type: [if open {"LoadBalancer"}, "ClusterIP"][0]`) + `, if open {` + gate + `}}`, nil},
		{"values of an enumeration", `type: *"ClusterIP" | "NodePort" | "LoadBalancer"`,
			`output: nodes: s: {` + service(`type: input.spec.type`) + `, if input.spec.type != "ClusterIP" {` + gate + `}}`,
			[]string{"nodes.s.readyWhen[0].type: ServiceLoadBalancerReady can't hold for a Service of type NodePort; make it LoadBalancer, or leave the check out"}},
		{"the right value", `type: *"ClusterIP" | "NodePort" | "LoadBalancer"`,
			`output: nodes: s: {` + service(`type: input.spec.type`) + `, if input.spec.type == "LoadBalancer" {` + gate + `}}`, nil},
		{"conditions that aren't understood", `host: string`,
			`output: nodes: s: {` + service(`if len(input.spec.host) > 3 {type: "LoadBalancer"}`) + `, if len(input.spec.host) > 2 {` + gate + `}}`, nil},
		{"kinds of two branches", `stateful: *false | bool`,
			`output: nodes: a: resource: {
				apiVersion: "apps/v1", kind: [if input.spec.stateful {"StatefulSet"}, "Deployment"][0], metadata: name: "x"
				spec: {selector: {}, template: spec: containers: [{name: "x"}], if input.spec.stateful {serviceName: "x"}, if !input.spec.stateful {strategy: type: "Recreate"}}
			}`, nil},
		{"kinds of one branch", `stateful: *false | bool`,
			`output: nodes: a: resource: {
				apiVersion: "apps/v1", kind: [if input.spec.stateful {"StatefulSet"}, "Deployment"][0], metadata: name: "x"
				spec: {selector: {}, template: spec: containers: [{name: "x"}], if !input.spec.stateful {serviceName: "x"}}
			}`, []string{`nodes.a.resource.spec.serviceName: unknown field`}},
		{"rules between fields", `public: bool, internal: !public`,
			`output: nodes: s: {` + service(`if input.spec.internal {type: "ClusterIP"}, if !input.spec.internal {type: "LoadBalancer"}`) + `, if input.spec.public {` + gate + `}}`, nil},
		{"an instance that is refused", `public: *false | bool, type: *"LoadBalancer" | "ClusterIP"`,
			`output: {nodes: s: {` + service(`type: input.spec.type`) + `, if input.spec.public {` + gate + `}}, violations: [if input.spec.public && input.spec.type != "LoadBalancer" {message: "no"}]}`, nil},
		{"one that may be refused", `public: *false | bool, type: *"LoadBalancer" | "ClusterIP", name: string`,
			`output: {nodes: s: {` + service(`type: input.spec.type`) + `, if input.spec.public {` + gate + `}}, violations: [if len(input.spec.name) > 30 {message: "no"}, if input.spec.public && input.spec.type != "LoadBalancer" {message: "no"}]}`, nil},
		{"one that may be refused for what isn't known", `public: *false | bool, type: *"LoadBalancer" | "ClusterIP", name: =~"^z{7}$"`,
			`output: {nodes: s: {` + service(`type: input.spec.type`) + `, if input.spec.public {` + gate + `}}, violations: [if len(input.spec.name) > 30 {message: "no"}, if input.spec.public && input.spec.type != "LoadBalancer" {message: "no"}]}`, nil},
		{"one that isn't, whatever is long", `public: *false | bool, name: string`,
			`output: {nodes: s: {` + service(`type: "ClusterIP"`) + `, if input.spec.public {` + gate + `}}, violations: [if len(input.spec.name) > 30 {message: "no"}]}`, gated},
		{"beside one that is refused", `tier: *"bronze" | "gold", replicas: *1 | int`,
			`output: {nodes: s: {` + service(`type: "ClusterIP"`) + `, if input.spec.tier == "gold" {` + gate + `}}, violations: [if input.spec.tier == "gold" && input.spec.replicas < 2 {message: "no"}]}`, gated},
		{"in a definition of its own", `probe?: {path?: string, port?: int}`,
			`output: nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", if input.spec.probe != _|_ {data: (#Probe & {in: input.spec.probe}).out}}`,
			[]string{"nodes.a.resource.data.port: must be a string, not an integer"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			more := ""
			if strings.Contains(test.output, "#Probe") {
				more = "#Probe: {in: {path?: string, port?: int}, out: {if in.path != _|_ {path: in.path}, if in.port != _|_ {port: in.port}}}"
			}
			check(t, module(test.input, test.output, more), test.want)
		})
	}
}

// TestLoops checks that the body of a `for` is evaluated with one item of the schema.
func TestLoops(t *testing.T) {
	const wrong = `resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", date: {}}`
	unknown := func(at string) []string { return []string{at + `: unknown field; did you mean "data"?`} }
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"list", `items: [...{name: string}]`, `output: nodes: {for i in input.spec.items {"w-\(i.name)": ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"list of scalars", `items: [...string]`, `output: nodes: {for i in input.spec.items {(i): ` + wrong + `}}`, unknown("nodes.example-items.resource.date")},
		{"list of numbers", `ports: [...int]`, `output: nodes: {for p in input.spec.ports {"p\(p)": ` + wrong + `}}`, unknown("nodes.p1.resource.date")},
		{"bounds", `ports: [...int & >=1024]`, `output: nodes: {for p in input.spec.ports {"p\(p)": ` + wrong + `}}`, unknown("nodes.p8080.resource.date")},
		{"index", `items: [...string]`, `output: nodes: {for i, _ in input.spec.items {"w\(i)": ` + wrong + `}}`, unknown("nodes.w0.resource.date")},
		{"map", `items: [string]: {x?: string}`, `output: nodes: {for k, v in input.spec.items {"w-\(k)": ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"map of a pattern", `items: [=~"^[a-z]+$"]: {x?: string}`, `output: nodes: {for k, v in input.spec.items {"w-\(k)": ` + wrong + `}}`, unknown("nodes.w-exampleitems.resource.date")},
		{"map of a bounded pattern", `items: {[#K]: {x?: string}} & struct.MinFields(1)`, `output: nodes: {for k, v in input.spec.items if v.x == "a" {"w-\(k)": ` + wrong + `}}`, unknown("nodes.w-exampleitems.resource.date")},
		{"map in capitals", `items: [=~"^[A-Z]+$"]: {x?: string}`, `output: nodes: {for k, v in input.spec.items {"w-\(k)": ` + wrong + `}}`, unknown("nodes.w-EXAMPLE.resource.date")},
		{"bounded list", `items: [...#I] & list.MinItems(1)`, `output: nodes: {for i in input.spec.items {"w-\(i.name)": ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"optional", `items?: [...{name: string}]`, `output: nodes: {if input.spec.items != _|_ for i in input.spec.items {"w-\(i.name)": ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"condition", `items: [...{name: string, on: *false | bool}]`, `output: nodes: {for i in input.spec.items if i.on {"w-\(i.name)": ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"length", `items: [...{name: string}]`, `output: nodes: {if len(input.spec.items) > 0 {w: ` + wrong + `}}`, unknown("nodes.w.resource.date")},
		{"nested", `groups: [string]: {items: [...{name: string}]}`, `output: nodes: {for k, g in input.spec.groups for i in g.items {"\(k)-\(i.name)": ` + wrong + `}}`, unknown("nodes.example-groups-example-items.resource.date")},
		{"by a let", `items: [...{name: string}]`, `output: nodes: {for i in input.spec.items let id = "w-\(i.name)" {(id): ` + wrong + `}}`, unknown("nodes.w-example-items.resource.date")},
		{"in a resource", `env: [string]: string`, `output: nodes: a: resource: {apiVersion: "v1", kind: "Pod", metadata: name: "x", spec: containers: [{name: "x", env: [for k, v in input.spec.env {nam: k, value: v}]}]}`,
			[]string{`nodes.a.resource.spec.containers[0].env[0].nam: unknown field; did you mean "name"?`}},
		{"values that aren't known are no wrong ones", `items: [...{name: string, memory: string, port: int}]`,
			`output: nodes: {for i in input.spec.items {"w-\(i.name)": resource: {apiVersion: "v1", kind: "Pod", metadata: name: i.name, spec: containers: [{name: i.name, ports: [{containerPort: i.port}], resources: limits: memory: i.memory}]}}}`, nil},
		{"constants", ``, `output: nodes: {for i in ["a"] {"w-\(i)": ` + wrong + `}}`, unknown("nodes.w-a.resource.date")},
		{"a computed source", `n: int`, `output: nodes: {for i in [if input.spec.n > 3 {"a"}] {"w-\(i)": ` + wrong + `}}`, unknown("nodes.w-a.resource.date")},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, module(test.input, test.output), test.want) })
	}
}

// TestGraph checks that problems of the graph as a whole are reported.
func TestGraph(t *testing.T) {
	const config = `resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: input.metadata.name}`
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"cycle", ``, `output: nodes: {a: {` + config + `, dependencies: ["b"]}, b: {resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x"}, dependencies: ["a"]}}`,
			[]string{"nodes.a.dependencies[0]: cycle: a → b → a"}},
		{"cycle in a branch", `on: *false | bool`, `output: nodes: {a: {` + config + `, if input.spec.on {dependencies: ["b"]}}, b: {resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x"}, dependencies: ["a"]}}`,
			[]string{"nodes.a.dependencies[0]: cycle: a → b → a"}},
		{"two nodes for one object", ``, `output: nodes: {a: {` + config + `}, b: {` + config + `}}`, []string{"nodes.b.resource: ConfigMap default/example is also node a; two nodes for one object"}},
		{"names of items", `a: [string]: int, b: [...{name: string}], c: [=~"^[a-z]+$"]: int`, `output: {
			nodes: main: {` + config + `}
			for k, _ in input.spec.a {nodes: "a-\(k)": resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: k}}
			for b in input.spec.b {nodes: "b-\(b.name)": resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: b.name}}
			for k, _ in input.spec.c {nodes: "c-\(k)": resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: k}}
		}`, nil},
		{"names that may differ", `name: string`, `output: nodes: {a: {` + config + `}, b: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: input.spec.name}}`, nil},
		{"a node that isn't always there", `on: *false | bool`, `output: nodes: {a: {` + config + `, dependencies: ["b"]}, if input.spec.on {b: resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x"}}}`,
			[]string{`nodes.a.dependencies[0]: no node "b"`}},
		{"a reference to a node that isn't always there", `on: *false | bool`, `output: {nodes: {a: {` + config + `}, if input.spec.on {b: resource: {apiVersion: "v1", kind: "Service", metadata: name: "x"}}}, outputs: ip: "$from": "b.spec.clusterIP"}`,
			[]string{`outputs.ip: no node "b"`}},
		{"guarded", `on: *false | bool`, `output: {nodes: {a: {` + config + `, dependencies: [if nodes.b != _|_ {"b"}]}, if input.spec.on {b: resource: {apiVersion: "v1", kind: "Secret", metadata: name: "x"}}}, if input.spec.on {outputs: ip: "$from": "b.spec.x"}}`, nil},
		{"misspelt field", ``, `output: nodes: a: {` + config + `, dependancies: []}`, []string{`nodes.a.dependancies: unknown field; did you mean "dependencies"?`}},
		{"misspelt path of a violation", `replicas: int`, `output: {nodes: {}, violations: [if input.spec.replicas > 3 {path: "spec.replica", message: "x"}]}`,
			[]string{`input.spec.replica: #Input has no replica; did you mean "replicas"?`}},
		{"paths of violations", `replicas: int, items: [...{name: string}], m: [string]: int`, `output: {nodes: a: {` + config + `}, violations: [
			if input.spec.replicas > 3 {path: "spec.items[0].name", message: "x"}, if input.spec.replicas > 4 {path: "spec.m.x", message: "x"},
			if input.spec.replicas > 5 {node: "a", path: "data.x", message: "x"}, if input.spec.replicas > 6 {message: "x"},
			for i, m in input.spec.items if m.name == "x" {path: "spec.items[\(i)]", message: "x"},
		]}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, module(test.input, test.output), test.want) })
	}
}

// TestDead checks nodes below guards that never hold.
func TestDead(t *testing.T) {
	const config = `resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x"}`
	never := `input.spec.tier: never holds: input.spec.tier == "platinum"; the schema is "bronze" | "gold"`
	made := "nodes.b: is never made: its condition never holds"
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"dead", `tier: "bronze" | "gold"`, `output: {nodes: a: {` + config + `}, if input.spec.tier == "platinum" {nodes: b: {` + config + `}}}`, []string{never, made}},
		{"dead, below another condition", `tier: "bronze" | "gold", on: bool`, `output: nodes: {if input.spec.tier == "platinum" {if input.spec.on {b: {` + config + `}}}}`, []string{never, made}},
		{"dead in one place", `tier: "bronze" | "gold"`, `output: nodes: {if input.spec.tier == "platinum" {b: {` + config + `}}, if input.spec.tier == "gold" {b: {` + config + `}}}`, []string{never}},
		{"waited for", `tier: "bronze" | "gold"`, `output: nodes: {a: {` + config + `, if input.spec.tier == "gold" {dependencies: ["b"]}}, if input.spec.tier == "platinum" {b: {` + config + `}}}`,
			[]string{"nodes.a.dependencies[0]: node b is never made", never, made}},
		{"in a list", `tier: "bronze" | "gold"`, `output: nodes: [if input.spec.tier == "platinum" {id: "b", ` + config + `}]`, []string{never, made}},
		{"alive", `tier: string`, `output: nodes: {if input.spec.tier == "platinum" {b: {` + config + `}}}`, nil},
		{"number", `n: int & <5`, `output: nodes: {if input.spec.n >= 5 {b: {` + config + `}}}`,
			[]string{"input.spec.n: never holds: input.spec.n >= 5; the schema is int & <5", made}},
		{"constant", ``, `output: nodes: {if false {b: {` + config + `}}}`, []string{": never holds: false", made}},
		{"two that exclude each other", `tier: "bronze" | "gold"`, `output: nodes: {if input.spec.tier == "gold" if input.spec.tier == "bronze" {b: {` + config + `}}}`,
			[]string{`: never holds: input.spec.tier == "bronze"; a condition around it excludes that`, made}},
		{"there and not there", `tier?: {a?: string}`, `output: nodes: {if input.spec.tier == _|_ {if input.spec.tier.a != _|_ {b: {` + config + `}}}}`,
			[]string{": never holds: input.spec.tier.a != _|_; a condition around it excludes that", made}},
		{"there, and of a value", `tier?: "bronze" | "gold", n?: int`, `output: nodes: {if input.spec.tier != _|_ if input.spec.tier == "gold" {if input.spec.n == 3 if input.spec.n != _|_ {b: {` + config + `}}}}`,
			[]string{"nodes: cannot reference optional field: n"}},
		{"on and off", `on: bool`, `output: nodes: {if input.spec.on {if !input.spec.on {b: {` + config + `}}}}`,
			[]string{": never holds: !input.spec.on; a condition around it excludes that", made}},
		{"one of two", `on: bool, off: bool`, `output: nodes: {if input.spec.on || input.spec.off {if !input.spec.on {b: {` + config + `}}}}`, nil},
		{"one that isn't understood", `on: bool, s: string`, `output: nodes: {if input.spec.on || len(input.spec.s) > 3 {if !input.spec.on {b: {` + config + `}}}}`, nil},
		{"of different items", `items: [...{on: bool}]`, `output: nodes: {for i in input.spec.items for j in input.spec.items if i.on if !j.on {b: {` + config + `}}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, module(test.input, test.output), test.want) })
	}
}

// TestFree checks that fields are not reported as missing in open structs, in which an
// instance can add them.
func TestFree(t *testing.T) {
	pod := func(spec string) string {
		return `output: nodes: a: resource: {apiVersion: "v1", kind: "Pod", metadata: name: "x", spec: ` + spec + `}`
	}
	missing := []string{"nodes.a.resource.spec.containers: missing"}
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"missing", ``, pod(`{}`), missing},
		{"free", `pod: {...}`, pod(`input.spec.pod`), nil},
		{"free and optional", `pod?: {...}`, pod(`{if input.spec.pod != _|_ {input.spec.pod}, if input.spec.pod == _|_ {containers: []}}`), nil},
		{"free below", `a: b: {...}`, pod(`input.spec.a.b`), nil},
		{"free beside fields", `pod: {hostNetwork?: bool, ...}`, pod(`input.spec.pod`), nil},
		{"free, by a let", `pod: {hostNetwork?: bool, ...}`, "let pod = input.spec.pod\n" + pod(`pod`), nil},
		{"free, and embedded", `pod: {...}`, pod(`{input.spec.pod, hostNetwork: true}`), nil},
		{"not free", `pod: {hostNetwork?: bool}`, pod(`input.spec.pod`), missing},
		{"anything", `pod: _`, pod(`input.spec.pod`), nil},
		{"of a list", `pods: [...{...}]`, pod(`{containers: [for p in input.spec.pods {p}]}`), nil},
		{"fields that a condition makes", `on: bool`, pod(`{if input.spec.on {containers: []}}`), missing},
		{"a condition that isn't understood", `s: string`, pod(`{if len(input.spec.s) > 3 {containers: []}}`), nil},
		{"an enumeration", `p: string`, pod(`{restartPolicy: "Allways", dnsPolicy: input.spec.p, containers: []}`),
			[]string{`nodes.a.resource.spec.restartPolicy: "Allways" is not one of "Always", "Never", "OnFailure"`}},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, module(test.input, test.output), test.want) })
	}
}

// TestNames checks reads of fields that the input does not have.
func TestNames(t *testing.T) {
	for _, test := range []struct {
		name, input, read string
		want              []string
	}{
		{"misspelt", `tier?: string`, `input.spec.teir`, []string{`input.spec.teir: #Input has no teir; did you mean "tier"?`}},
		{"below", `a?: {b?: string}`, `input.spec.a.c`, []string{`input.spec.a.c: #Input has no a.c`}},
		{"open", `a?: {b?: string, ...}`, `input.spec.a.c`, nil},
		{"map", `a?: [string]: string`, `input.spec.a.c`, nil},
		{"anything", `a?: _`, `input.spec.a.c`, nil},
		{"union", `a?: {volume: {size: int}} | {bucket: string}`, `input.spec.a.volum`, []string{`input.spec.a.volum: #Input has no a.volum; did you mean "volume"?`}},
		{"one of a union", `a?: {volume: {size: int}} | {bucket: string}`, `input.spec.a.bucket`, nil},
		{"below one of a union", `a?: {volume: {size: int}} | {bucket: string}`, `input.spec.a.volume.siz`, []string{`input.spec.a.volume.siz: #Input has no a.volume.siz; did you mean "size"?`}},
		{"union of definitions", `a?: #A | #B`, `input.spec.a.z`, []string{`input.spec.a.z: #Input has no a.z`}},
		{"union with an open one", `a?: #A | {y: 1, ...}`, `input.spec.a.z`, nil},
		{"union with a scalar", `a?: #A | string`, `input.spec.a.z`, []string{`input.spec.a.z: #Input has no a.z`}},
		{"union with null", `a?: null | #A`, `input.spec.a.z`, []string{`input.spec.a.z: #Input has no a.z`}},
		{"union with fields for all", `a?: {common?: int, {volume: string} | {bucket: string}}`, `input.spec.a.comon`, []string{`input.spec.a.comon: #Input has no a.comon; did you mean "common"?`}},
		{"discriminated", `a?: *{type: "x", x?: int} | {type: "y", y?: int}`, `input.spec.a.z`, []string{`input.spec.a.z: #Input has no a.z`}},
		{"made by a condition", `a: bool, if a {b: int}`, `input.spec.b`, nil},
		{"items of a union", `a?: [...{volume: string} | {bucket: string}]`, `input.spec.a[0].volum`, []string{`input.spec.a[].volum: #Input has no a[].volum; did you mean "volume"?`}},
		{"a prefix", `production?: string`, `input.spec.prod`, []string{`input.spec.prod: #Input has no prod; did you mean "production"?`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			check(t, module(test.input, "output: {nodes: {}, if "+test.read+" != _|_ {}}", "#A: {x?: int}, #B: {y?: int}"), test.want)
		})
	}
}

// TestScopes checks that names in #Render are resolved as CUE resolves them.
func TestScopes(t *testing.T) {
	const unknown = `input.spec.items[].nam: #Input has no items[].nam; did you mean "name"?`
	for _, test := range []struct {
		name, body string
		want       []string
	}{
		{"a let of a let", `let a = input.spec, let b = a.items, if b[0].nam != _|_ {}`, []string{unknown}},
		{"a hidden field", `_b: input.spec.items, if _b[0].nam != _|_ {}`, []string{unknown}},
		{"a label alias", `X=_b: input.spec.items, if X[0].nam != _|_ {}`, []string{unknown}},
		{"a clause", `for i in input.spec.items let j = i if j.nam != _|_ {}`, []string{unknown}},
		{"a loop named like the input", `for input in input.spec.items if input.nam != _|_ {}`, []string{unknown}},
		{"a key", `for k, _ in input.spec.items if k.nam != _|_ {}`, nil},
		{"a field named like the input", `_p: {input: {}, if input.nam != _|_ {}}`, nil},
		{"a definition of its own", `if (#P & {input: {}}).out != _|_ {}`, nil},
		{"fields in a circle", `_a: _b, _b: _a, if _a.nam != _|_ {}, if _a {}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			check(t, module(`items: [...{name: string}]`, "output: nodes: {}\n"+test.body, "#P: {input: {...}, out: input.nam}"), test.want)
		})
	}
}

// TestOpenLists compares the warnings with CUE 0.17: the test unifies each list with an
// item that has an unknown field.
func TestOpenLists(t *testing.T) {
	const warning = "warning : items may have fields that aren't named here: beside a validator of lists CUE doesn't close the struct; name it, as in [...#Item] & list.MaxItems(9)"
	for _, test := range []struct {
		list string
		open bool
	}{
		{`[...{a?: string}]`, false},
		{`[...{a?: string}] & list.MaxItems(3)`, true},
		{`list.MaxItems(3) & ([...{a?: string}])`, true},
		{`[...{a?: string}] & list.UniqueItems`, true},
		{`*[] | [...{a?: string} | {b?: string}] & list.MinItems(1)`, true},
		{`[...#Item] & list.MaxItems(3)`, false},
		{`[...{#Item}] & list.MaxItems(3)`, false},
		{`[...close({a?: string})] & list.MaxItems(3)`, false},
		{`[...{a?: string}] & [...]`, false},
		{`[...string] & list.MaxItems(3)`, false},
	} {
		t.Run(test.list, func(t *testing.T) {
			text := module("x?: "+test.list, "output: nodes: {}", "#Item: {a?: string}")
			var want []string
			if test.open {
				want = []string{warning}
			}
			check(t, text, want)
			if strings.Contains(test.list, "string]") {
				return
			}
			v := cuecontext.New().CompileString(text + "\ny: #Render & {input: spec: x: [{unknown: 1}]}")
			if takes := v.LookupPath(cue.ParsePath("y.input.spec")).Validate() == nil; takes != test.open {
				t.Errorf("CUE takes any field: %v", takes)
			}
		})
	}
}

// TestRich checks a valid module that uses many features of CUE.
func TestRich(t *testing.T) {
	text, err := os.ReadFile("testdata/rich.cue")
	if err != nil {
		t.Fatal(err)
	}
	check(t, string(text), nil)
	// Values deep in the module are checked as well.
	for _, test := range []struct{ from, to, want string }{
		{"secretKeyRef:", "secretKeyReff:", `nodes.main.resource.spec.template.spec.containers[0].env[0].valueFrom.secretKeyReff: unknown field; did you mean "secretKeyRef"?`},
		{"volumeClaimTemplates:", "volumeClaimTemplate:", `nodes.main.resource.spec.volumeClaimTemplate: unknown field; did you mean "volumeClaimTemplates"?`},
		{`strategy: type: "Recreate"`, `strategy: type: "Recreated"`, `nodes.main.resource.spec.strategy.type: "Recreated" is not one of "Recreate", "RollingUpdate"`},
		{`type: "LoadBalancer", `, ``, `nodes.service.readyWhen[0].type: ServiceLoadBalancerReady can't hold for a Service of type ClusterIP; make it LoadBalancer, or leave the check out`},
		{`dependencies: ["service"]`, `dependencies: ["servce"]`, `nodes.ep-example-ports.dependencies[0]: no node "servce"; did you mean "service"?`},
		{`jobTemplate: spec: template: spec: {`, `jobTemplate: spec: template: {`, ``},
	} {
		changed := strings.Replace(string(text), test.from, test.to, 1)
		problems, err := Module(load(t, changed), Options{Catalog: &kinds.Catalog{}}, func(run func()) error { run(); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(found(problems), "\n"); got == "" || !strings.Contains(got, test.want) {
			t.Errorf("%s:\n%s\nwant %s", test.to, got, test.want)
		}
	}
}
