package vet

import (
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"github.com/pequod-io/pequod/internal/schema/read"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// TestGenerated checks the strings that are made from the patterns of a schema.
func TestGenerated(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{`=~"^v[0-9]+$"`, "v1"},
		{`=~"^v\\d+\\.\\d+$"`, "v1.1"},
		{`=~"^(team|org)-[A-Z]{3}$"`, "team-AAA"},
		{`=~"^(?:x|y-)z?$" & !~"^x"`, "y-"},
		{`=~"^[^a-z]{2,}$"`, "11"},
		{`=~"(?i)^PROD-.$"`, "PROD-a"},
		{`=~"^é[α-ω]$"`, "éα"},
		{`=~"^a+=[0-9]*$" & strings.MinRunes(6)`, "aaa=11"},
		{`=~"^(b[0-9]{1,4})+$" & strings.MinRunes(5) & strings.MaxRunes(8)`, "b11b11"},
		{`=~"=" & strings.MinRunes(20)`, "=aaaaaaaaaaaaaaaaaaa"},
		{`strings.MinRunes(15)`, "aaaaaaaaaaaaaaa"},
		{`=~"^a" & =~"1$"`, ""},
		{`=~"^v$" & !~"v"`, ""},
		{`=~"^(((a*)*)*)*b$" & strings.MinRunes(4000) & !~"b"`, ""},
		{`=~"^((((\\B*)*)*)*)*$" & strings.MinRunes(1)`, ""},
		{`=~"^\\Bx$" | =~"^k=$"`, "k="},
		{`strings.MinRunes(100000)`, ""},
		{`=~"(?=x)"`, ""},
	} {
		v := cuecontext.New().CompileString("import \"strings\"\n_m: strings.MinRunes\n#I: x: " + test.schema)
		found, err := read.Value(v.LookupPath(cue.ParsePath("#I")), "x", "x")
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if made := (schema{shape: found.Field.Shape[0].Object.Lookup("x").Shape}).generated(); made != nil {
			got, _ = cuesyntax.Text(made)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.schema, got, test.want)
		}
	}
}

// TestGeneratedSamples checks that samples are rendered whose strings must match a
// pattern, and that nothing is reported about the values of these strings.
func TestGeneratedSamples(t *testing.T) {
	node := func(data string) string {
		return `output: nodes: a: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x", data: {` + data + `}}`
	}
	for _, test := range []struct {
		name, input, output string
		want                []string
	}{
		{"an optional field", `version: =~"^v[0-9]+$", host?: string`, node(`version: input.spec.version, host: input.spec.host`),
			[]string{"nodes.a.resource.data.host: cannot reference optional field: host"}},
		{"a value that is never concrete", `versions: [...{v: =~"^v[0-9]+$"}], on?: =~"^=$"`, node(`if input.spec.on != _|_ {host: string}`),
			[]string{"nodes.a.resource.data.host: incomplete value string"}},
		{"a guard", `version: =~"^v[0-9]+$", host?: string`, node(`version: input.spec.version, if input.spec.host != _|_ {host: input.spec.host}`), nil},
		{"a table", `version: =~"^v[0-9]+$"`, `_images: {v7: "a", v8: "b"}` + "\n" + node(`image: _images[input.spec.version]`), nil},
		{"a violation", `version: =~"^v[0-9]+$"`, node(`if input.spec.version != "v1" {version: "x"}, if input.spec.version == "v1" {version: string}`) + "\n" +
			`output: violations: [if input.spec.version == "v1" {message: "too old"}]`, nil},
		{"an enumeration of the kind", `policy: =~"^[A-Z][a-z]{5}$"`,
			`output: nodes: a: resource: {apiVersion: "v1", kind: "Pod", metadata: name: "x", spec: {restartPolicy: input.spec.policy, containers: [{name: "x"}]}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, module(test.input, test.output), test.want) })
	}
}
