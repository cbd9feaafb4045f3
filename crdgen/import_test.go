package crdgen

import (
	"fmt"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/encoding/jsonschema"
	cueyaml "cuelang.org/go/encoding/yaml"
	"sigs.k8s.io/yaml"
)

// realForms are schemas of fields as controllers' CRDs have them, each with values
// that it admits and values that it rejects, in YAML.
var realForms = []struct {
	name, schema string
	good, bad    []string
}{
	{"string", `{type: string}`, []string{`a`, `""`}, []string{`1`, `[]`}},
	{"pattern", `{type: string, pattern: "^[a-z]+$", maxLength: 5}`, []string{`abc`}, []string{`A`, `abcdef`}},
	{"enum", `{type: string, enum: [Always, Never]}`, []string{`Always`}, []string{`Sometimes`, `1`}},
	{"default", `{type: string, enum: [Always, Never], default: Always}`, []string{`Never`}, []string{`never`}},
	{"integer", `{type: integer, format: int32, minimum: 1, maximum: 65535}`, []string{`1`, `65535`}, []string{`0`, `65536`, `a`}},
	{"int64", `{type: integer, format: int64}`, []string{`9007199254740993`, `-1`}, []string{`1.5`, `a`}},
	{"integer with a default", `{type: integer, default: 3, minimum: 0}`, []string{`0`}, []string{`-1`}},
	{"boolean", `{type: boolean, default: true}`, []string{`false`}, []string{`"true"`}},
	{"number", `{type: number, minimum: 0, exclusiveMinimum: true}`, []string{`0.5`, `2`}, []string{`0`, `a`}},
	{"int or string", `{x-kubernetes-int-or-string: true}`, []string{`80`, `http`}, []string{`true`, `[]`}},
	{"quantity", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^([0-9]+)(m|Mi|Gi)?$"}`, []string{`80`, `100m`}, []string{`true`, `100x`}},
	{"typed list", `{type: array, items: {type: string, minLength: 1}, x-kubernetes-list-type: atomic}`, []string{`[]`, `[a, b]`}, []string{`[1]`, `a`, `[""]`}},
	{"set", `{type: array, maxItems: 5, items: {type: string}, x-kubernetes-list-type: set}`, []string{`[a, b]`}, []string{`[1]`, `[a, b, c, d, e, f]`}},
	{"labels", `{type: object, additionalProperties: {type: string}}`, []string{`{a: b}`, `{}`}, []string{`{a: 1}`, `a`}},
	{"selector", `{type: object, x-kubernetes-map-type: atomic, properties: {matchLabels: {type: object, additionalProperties: {type: string}}, matchExpressions: {type: array, items: {type: object, required: [key, operator], properties: {key: {type: string}, operator: {type: string}, values: {type: array, items: {type: string}}}}}}}`,
		[]string{`{matchLabels: {a: b}}`, `{matchExpressions: [{key: a, operator: In, values: [b]}]}`}, []string{`{matchLabels: {a: 1}}`, `{matchExpressions: [{key: a}]}`}},
	{"anything", `{x-kubernetes-preserve-unknown-fields: true}`, []string{`{a: [1]}`, `3`, `x`}, nil},
	{"any struct", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, []string{`{a: [1]}`, `{}`}, []string{`3`, `[]`}},
	{"fields and any others", `{type: object, properties: {a: {type: integer}}, x-kubernetes-preserve-unknown-fields: true}`, []string{`{a: 1, b: {}}`}, []string{`{a: x}`}},
	{"embedded object", `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, []string{`{apiVersion: v1, kind: Pod, metadata: {name: a}}`}, []string{`a`}},
	{"one of two", `{type: object, properties: {git: {type: string}, oci: {type: string}}, oneOf: [{required: [git]}, {required: [oci]}]}`, []string{`{git: a}`, `{oci: a}`}, []string{`{}`, `{git: a, oci: b}`}},
	{"one of many", `{type: object, minProperties: 1, maxProperties: 1, properties: {a: {type: object}, b: {type: object, properties: {c: {type: string}}}}}`, []string{`{a: {}}`, `{b: {c: x}}`}, []string{`{b: {c: 1}}`}},
	{"any of two", `{type: object, properties: {a: {type: string}, b: {type: string}}, anyOf: [{required: [a]}, {required: [b]}]}`, []string{`{a: x}`, `{a: x, b: y}`}, []string{`{}`}},
	{"rules", `{type: object, properties: {min: {type: integer}, max: {type: integer}}, x-kubernetes-validations: [{rule: "!has(self.min) || !has(self.max) || self.min <= self.max"}]}`, []string{`{min: 1, max: 2}`}, []string{`{min: a}`}},
	{"nullable", `{type: string, nullable: true}`, []string{`null`, `a`}, []string{`1`}},
	{"recursion cut", `{type: object, properties: {and: {type: array, items: {type: object, properties: {not: {x-kubernetes-preserve-unknown-fields: true}, name: {type: string}}}}}}`, []string{`{and: [{not: {and: []}, name: a}]}`}, []string{`{and: [{name: 1}]}`, `{and: a}`}},
	{"defaults inside", `{type: object, default: {}, properties: {port: {type: integer, default: 80}, tls: {type: object, properties: {mode: {type: string, default: strict}}}}}`, []string{`{}`, `{port: 1}`, `{tls: {}}`}, []string{`{port: a}`}},
	{"date", `{type: string, format: date-time}`, []string{`"2026-11-20T10:00:00Z"`}, []string{`1`}},
}

// realPlaces put a field's schema, or its value, where CRDs have it.
var realPlaces = []struct{ name, schema, value string }{
	{"optional", `{type: object, properties: {f: %s}}`, `{f: %s}`},
	{"required", `{type: object, required: [f], properties: {f: %s}}`, `{f: %s}`},
	{"nested", `{type: object, properties: {g: {type: object, required: [f], properties: {f: %s, h: {type: string}}}}}`, `{g: {f: %s, h: x}}`},
	{"map", `{type: object, properties: {m: {type: object, additionalProperties: %s}}}`, `{m: {x: %s}}`},
	{"keyed list", `{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, f: %s}}}}}`, `{l: [{name: a, f: %s}]}`},
}

// TestImported converts CRDs to CUE as cue import does, and generates CRDs from the
// result. What the CRD admits must be admitted by the CRD that comes back, and
// what it rejects must be rejected or noted.
func TestImported(t *testing.T) {
	count := 0
	for _, form := range realForms {
		for _, place := range realPlaces {
			count++
			t.Run(form.name+"/"+place.name, func(t *testing.T) {
				schema := fmt.Sprintf(place.schema, form.schema)
				source := importSchema(t, schema)
				module, input := moduleOf(source)
				result, err := generate(input, testNames())
				if err != nil {
					t.Fatalf("%v\n%s", errorText(err), source)
				}
				original := result.CRD.DeepCopy()
				var spec props
				if err := yaml.Unmarshal([]byte(schema), &spec); err != nil {
					t.Fatal(err)
				}
				original.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
				before, after := newServer(t, original), newServer(t, result.CRD)
				for _, value := range form.good {
					doc := []byte(fmt.Sprintf(place.value, value))
					if _, err := before.create(doc); err != nil {
						t.Fatalf("%s: the CRD itself rejects it: %v", doc, err)
					}
					if c := compare(module, after, doc); c.crd != nil || c.changed != "" {
						t.Errorf("%s: %v\n%s\nCUE: %v\n%s", doc, c.crd, c.changed, c.cue, source)
					}
				}
				for _, value := range form.bad {
					doc := []byte(fmt.Sprintf(place.value, value))
					if _, err := before.create(doc); err == nil {
						t.Fatalf("%s: the CRD itself accepts it", doc)
					}
					c := compare(module, after, doc)
					if _, noted := admits(result.Notes, c.cue); c.letThrough() && !noted {
						t.Errorf("%s: let through without a note\nCUE: %v\n%s", doc, c.cue, source)
					}
				}
			})
		}
	}
	if count < 100 {
		t.Errorf("%d CRDs, want at least 100", count)
	}
}

// importSchema converts a schema of spec to CUE with an #Input.
func importSchema(t *testing.T, schema string) []byte {
	t.Helper()
	// The root of a CRD's schema is an object of Kubernetes, so spec is inside of it.
	parsed, err := cueyaml.Extract("crd.yaml", "{type: object, properties: {spec: "+schema+"}}")
	if err != nil {
		t.Fatal(err)
	}
	file, err := jsonschema.Extract(cuecontext.New().BuildFile(parsed), &jsonschema.Config{StrictKeywords: true, SingleRoot: true, DefaultVersion: jsonschema.VersionKubernetesCRD})
	if err != nil {
		t.Fatal(err)
	}
	var decls []ast.Decl
	for _, d := range file.Decls {
		f, isField := d.(*ast.Field)
		name := ""
		if isField {
			name, _, _ = ast.LabelName(f.Label)
		}
		switch _, isImport := d.(*ast.ImportDecl); {
		case name == "spec":
			decls = append(decls, &ast.Field{Label: ast.NewIdent("#Input"), Value: f.Value})
		case isImport || strings.HasPrefix(name, "_"):
			decls = append(decls, d)
		}
	}
	file.Decls = decls
	source, err := format.Node(file)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSpace(string(source)) + "\n")
}
