package compat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definition makes a CRD whose spec has the given schema, in YAML.
func definition(t *testing.T, spec string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var s props
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	return around(s)
}

func around(spec props) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things.example.com"
	crd.Spec.Group = "example.com"
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", Plural: "things"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &props{
			Type: "object", Properties: map[string]props{"spec": spec},
		}},
	}}
	return crd
}

func lines(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		verdict := "safe"
		if c.Breaking() {
			verdict = "breaking"
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", verdict, c.Rule, c.Path, c.Message)
	}
	return b.String()
}

func TestCheckSchema(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"the same", `type: string`, `type: string`, ""},
		{"description", `{type: string, description: a}`, `{type: string, description: b}`, ""},
		{"narrower type", `type: number`, `type: integer`, "breaking type spec: number → integer\n"},
		{"wider type", `type: integer`, `type: number`, "safe type spec: integer → number\n"},
		{"integer or string", `type: string`, `{x-kubernetes-int-or-string: true}`, "safe type spec: string → integer or string\n"},
		{"length that the pattern implies", `{type: string, pattern: "^[0-9]{1,3}%$"}`, `{type: string, pattern: "^[0-9]{1,3}%$", minLength: 1, maxLength: 4}`, ""},
		{"length that the pattern doesn't imply", `{type: string, pattern: "^[0-9]+%"}`, `{type: string, pattern: "^[0-9]+%", minLength: 3, maxLength: 4}`,
			"breaking bound spec: minLength 3 is new\nbreaking bound spec: maxLength 4 is new\n"},
		{"unknown fields of a scalar", `{type: string, x-kubernetes-preserve-unknown-fields: true}`, `type: string`, ""},
		{"unknown fields get a schema", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object, additionalProperties: {type: string}}`,
			"breaking keys spec: values of other keys have a schema\n"},
		{"format of listed integers", `{type: integer, enum: [301, 302]}`, `{type: integer, format: int32, enum: [301, 302]}`, ""},
		{"null", `{type: string, nullable: true}`, `type: string`, "breaking type spec: null is no longer allowed\n"},
		{"enum", `{type: string, enum: [a, b]}`, `{type: string, enum: [b, c]}`,
			"breaking enum spec: value \"a\" is gone\nsafe enum spec: value \"c\" is new\n"},
		{"new enum", `type: string`, `{type: string, enum: [b]}`, "breaking enum spec: only \"b\" allowed\n"},
		{"narrower bounds", `{type: integer, minimum: 1, maximum: 9}`, `{type: integer, minimum: 2, maximum: 8}`,
			"breaking bound spec: minimum 1 → 2\nbreaking bound spec: maximum 9 → 8\n"},
		{"wider bounds", `{type: integer, minimum: 1, maximum: 9}`, `{type: integer, maximum: 10}`,
			"safe bound spec: minimum 1 is gone\nsafe bound spec: maximum 9 → 10\n"},
		{"exclusive", `{type: number, minimum: 1}`, `{type: number, minimum: 1, exclusiveMinimum: true}`,
			"breaking bound spec: minimum 1 itself is no longer allowed\n"},
		{"exclusive, and new", `type: integer`, `{type: integer, minimum: 0, exclusiveMinimum: true}`,
			"breaking bound spec: exclusive minimum 0 is new\n"},
		{"exclusive, and gone", `{type: number, maximum: 9, exclusiveMaximum: true}`, `type: number`,
			"safe bound spec: exclusive maximum 9 is gone\n"},
		{"exclusive, further out", `{type: number, minimum: 1}`, `{type: number, minimum: 0, exclusiveMinimum: true}`,
			"safe bound spec: minimum 1 → 0\n"},
		{"the default list type spelled out", `{type: array, items: {type: string}}`,
			`{type: array, items: {type: string}, x-kubernetes-list-type: atomic}`, ""},
		{"list type", `{type: array, items: {type: string}}`,
			`{type: array, items: {type: string}, x-kubernetes-list-type: set}`, "breaking list-type spec: list type atomic → set\n"},
		{"pattern", `{type: string, pattern: a}`, `{type: string, pattern: b}`, "breaking pattern spec: must match b, not a, which excludes \"a\"\n"},
		{"length", `{type: string, maxLength: 5}`, `{type: string, maxLength: 4, minLength: 1}`,
			"breaking bound spec: minLength 1 is new\nbreaking bound spec: maxLength 5 → 4\n"},
		{"field removed", `{type: object, properties: {a: {type: string}}}`, `type: object`,
			"breaking removed spec.a: field removed\n"},
		{"field renamed", `{type: object, properties: {a: {type: string, maxLength: 3}}}`, `{type: object, properties: {b: {type: string, maxLength: 3}}}`,
			"breaking removed spec.a: field removed; perhaps it is b now\nsafe added spec.b: field added\n"},
		{"required field added", `type: object`, `{type: object, required: [b], properties: {b: {type: string}}}`,
			"breaking required spec.b: is required now\n"},
		{"required field with a default", `type: object`, `{type: object, required: [b], properties: {b: {type: string, default: x}}}`,
			"safe added spec.b: field added, with the default \"x\"\n"},
		{"default beside a rule", `{type: object, x-kubernetes-validations: [{rule: "!has(self.b)"}]}`,
			`{type: object, properties: {b: {type: string, default: x}}, x-kubernetes-validations: [{rule: "!has(self.b)"}]}`,
			"breaking added spec.b: field added, with the default \"x\", where a rule may not expect it\n"},
		{"default beside a rule about others", `{type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: "has(self.a)"}]}`,
			`{type: object, properties: {a: {type: string}, b: {type: string, default: x}}, x-kubernetes-validations: [{rule: "has(self.a)"}]}`,
			"safe added spec.b: field added, with the default \"x\"\n"},
		{"default inside what a rule compares", `{type: object, properties: {a: {type: object}}, x-kubernetes-validations: [{rule: "self.a == oldSelf.a"}]}`,
			`{type: object, properties: {a: {type: object, properties: {b: {type: string, default: x}}}}, x-kubernetes-validations: [{rule: "self.a == oldSelf.a"}]}`,
			"breaking added spec.a.b: field added, with the default \"x\", where a rule may not expect it\n"},
		{"optional", `{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`,
			"safe required spec.a: is optional now\n"},
		{"default", `{type: integer, default: 1}`, `{type: integer, default: 2}`, "breaking default spec: default 1 → 2\n"},
		{"items", `{type: array, items: {type: string}}`, `{type: array, items: {type: string, minLength: 1}}`,
			"breaking bound spec[]: minLength 1 is new\n"},
		{"list type", `{type: array, items: {type: string}}`, `{type: array, x-kubernetes-list-type: set, items: {type: string}}`,
			"breaking list-type spec: list type atomic → set\n"},
		{"map values", `{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: integer}}`,
			"breaking type spec.*: string → integer\n"},
		{"map to fields", `{type: object, additionalProperties: {type: string}}`, `{type: object, properties: {a: {type: string}}}`,
			"breaking keys spec: other keys are no longer allowed\n"},
		{"open to closed", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object, properties: {a: {type: string}}}`,
			"breaking keys spec: fields that the schema doesn't name are no longer kept\nbreaking type spec.a: any → string\n"},
		{"CEL", `{type: object}`, `{type: object, x-kubernetes-validations: [{rule: "size(self) > 0", message: "must be so"}]}`,
			"breaking validation spec: new rule: must be so\n"},
		{"CEL gone", `{type: object, x-kubernetes-validations: [{rule: "true"}]}`, `{type: object}`,
			"safe validation spec: rule is gone: true\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(Check(definition(t, test.old), definition(t, test.new)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckDefinition(t *testing.T) {
	old := definition(t, `type: string`)
	old.Spec.Names.ShortNames = []string{"th"}
	old.Spec.Versions = append(old.Spec.Versions,
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1alpha1", Served: true},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v0", Storage: true},
		apiextensionsv1.CustomResourceDefinitionVersion{Name: "v0alpha1"})
	changed := old.DeepCopy()
	changed.Spec.Scope = apiextensionsv1.ClusterScoped
	changed.Spec.Names.Plural = "thingies"
	changed.Spec.Names.ShortNames = []string{"tg"}
	changed.Spec.Versions = append(changed.Spec.Versions[:1], apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true})
	want := `breaking scope : scope Namespaced → Cluster
breaking names : plural things → thingies
breaking names : short name th is gone
breaking version : version v1alpha1 is no longer served
breaking version : version v0 is gone, in which objects are stored
safe names : short name tg is new
safe version : version v2 is new
`
	if diff := cmp.Diff(want, lines(Check(old, changed))); diff != "" {
		t.Error(diff)
	}
}
