package crdgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const ruledSchema = `
#Input: {
	@k8s(rule="!has(self.max) || self.min <= self.max",message="min is above max",fieldPath=".min",reason=FieldValueForbidden)
	@k8s(rule=#"self.name != "x" && self.name.matches('^\\w+$')"#, messageExpression="'no ' + self.name")
	min: *1 | int
	max?: int & >=min & <=100
	name: =~"^[a-z]+$" @k8s(rule="oldSelf.orValue(self) == self",optionalOldSelf) @k8s(immutable,printerColumn=Name)
	tags?: [...string] @k8s(rule="size(self) > 0") @k8s(rule="self.startsWith('t')",on=[]) @k8s(listType=set)
	grid?: [...{[string]: [...int]}] @k8s(rule="self > 2",on=[].*[])
}
`

// TestOwnRules compares the rules of a CRD with those of the attributes.
func TestOwnRules(t *testing.T) {
	_, input := moduleOf([]byte(ruledSchema))
	names := testNames()
	result, err := Generate(map[string]cue.Value{names.Version: input}, cue.Value{}, names)
	if err != nil {
		t.Fatal(errorText(err))
	}
	got := map[string]apiextensionsv1.ValidationRules{}
	walk(*result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema, "", func(at string, p props) {
		if len(p.XValidations) > 0 {
			got[at] = p.XValidations
		}
	})
	forbidden := apiextensionsv1.FieldValueForbidden
	spec := ".properties[spec]"
	want := map[string]apiextensionsv1.ValidationRules{
		spec: {
			{Rule: "!has(self.max) || !has(self.min) || self.max >= self.min", Message: "max must be >=min", FieldPath: ".max"},
			{Rule: "!has(self.max) || self.min <= self.max", Message: "min is above max", FieldPath: ".min", Reason: &forbidden},
			{Rule: `self.name != "x" && self.name.matches('^\\w+$')`, MessageExpression: "'no ' + self.name"},
		},
		spec + ".properties[name]": {
			{Rule: "self == oldSelf", Message: "name can't be changed"},
			{Rule: "oldSelf.orValue(self) == self", OptionalOldSelf: new(true)},
		},
		spec + ".properties[tags]":                                  {{Rule: "size(self) > 0"}},
		spec + ".properties[tags].items":                            {{Rule: "self.startsWith('t')"}},
		spec + ".properties[grid].items.additionalProperties.items": {{Rule: "self > 2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s := newServer(t, result.CRD)
	for doc, want := range map[string]string{
		`{name: a, tags: [t], grid: [{a: [3]}]}`: "",
		`{name: x}`:                              "spec: Invalid value: no x",
		`{name: a, min: 9, max: 8}`:              "spec.min: Forbidden: min is above max",
		`{name: a, tags: []}`:                    "spec.tags: Invalid value",
		`{name: a, tags: [t, s]}`:                "spec.tags[1]: Invalid value",
		`{name: a, grid: [{a: [3, 1]}]}`:         "spec.grid[0][a][1]: Invalid value",
	} {
		_, err := s.create([]byte(doc))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
	if err := s.update([]byte("{name: a}"), []byte("{name: b}")); err == nil || !strings.Contains(err.Error(), "oldSelf.orValue") {
		t.Errorf("another name: %v", err)
	}
}

// TestOwnRulesRefuseDefaults generates schemas in which every field has a default, so that an
// API server evaluates the rules on the default of spec.
func TestOwnRulesRefuseDefaults(t *testing.T) {
	for rule, want := range map[string]string{
		"self.deep.min <= self.max": `{"deep":{"min":1},"max":3}`,
		"self.deep.min > self.max":  "", // an instance must give a spec
	} {
		result, err := generate(inputOf(t, []byte("#Input: {\n@k8s(rule=\""+rule+"\")\nmax: *3 | int, deep: {min: *1 | int}\n}")), testNames())
		if err != nil {
			t.Fatal(errorText(err))
		}
		root := result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema
		got := ""
		if d := root.Properties["spec"].Default; d != nil {
			got = string(d.Raw)
		}
		if required := slices.Contains(root.Required, "spec"); got != want || required != (want == "") {
			t.Errorf("%s: default %s, required %v; want %s", rule, got, required, want)
		}
	}
}

// TestOwnRulesAreKept generates schemas whose rules are too expensive together. Those that are
// made of CUE are dropped, but not the author's.
func TestOwnRulesAreKept(t *testing.T) {
	const own = "self.all(key, key.matches('^y-'))" // as expensive as the others
	for n, want := range map[int]string{20: "", 60: "contributed to estimated rule cost total"} {
		var b strings.Builder
		b.WriteString("#Input: {\n")
		for i := range 60 {
			attribute := ""
			if i < n {
				attribute = fmt.Sprintf("@k8s(rule=%q)", own)
			}
			fmt.Fprintf(&b, "\tf%d?: {[=~\"^x-\"]: int} %s\n", i, attribute)
		}
		b.WriteString("}\n")
		result, err := generate(inputOf(t, []byte(b.String())), testNames())
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "schema.cue:") {
				t.Errorf("%d rules: error %v, want %s", n, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		walk(*result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema, "", func(_ string, p props) {
			if slices.ContainsFunc(p.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == own }) {
				kept++
			}
		})
		if kept != n || len(result.Notes) == 0 {
			t.Errorf("%d of %d rules are kept, and there are %d notes", kept, n, len(result.Notes))
		}
	}
}

func TestOwnRuleErrors(t *testing.T) {
	for field, want := range map[string]string{
		`a: int @k8s(rule="self >")`:                                `an API server refuses this @k8s attribute: Invalid value`,
		`a: int @k8s(rule="self.b > 1")`:                            `an API server refuses this @k8s attribute: Invalid value`,
		`a: _ @k8s(rule="self > 1")`:                                `an API server refuses this @k8s attribute`,
		`a: *1 | int @k8s(rule="self > 1")`:                         `an API server refuses this @k8s attribute: Invalid value: 1: failed rule: self > 1 (default)`,
		`a: int @k8s(rule="self > 1",reason=No)`:                    `an API server refuses this @k8s attribute: Unsupported value: "No"`,
		`a: int @k8s(message="no")`:                                 `the other arguments of a rule without rule`,
		`a: int @k8s(rule="self > 1",rule="self > 2")`:              `rule is given twice: an attribute has one rule`,
		`a: int @k8s(rule)`:                                         `rule has no value`,
		`a: int @k8s(rule="self > 1",on=items)`:                     `on is [] for the items of a list or .* for the values of a map`,
		`a: int @k8s(rule="self > 1",on=[])`:                        `the schema has nothing at spec.a[]`,
		`a: int @k8s(rule="self == oldSelf",optionalOldSelf=maybe)`: `optionalOldSelf is true or false`,
		`a: {b: int @k8s(rule="self > 1")} | {c: int}`:              `belongs to #Input or a field of it that is in no choice`,
		`@k8s(immutable), a: int`:                                   `an attribute @k8s in a struct can only be a rule`,
		`a: {@k8s(rule="self.b > 1"), b: int}`:                      `belongs behind a field, not in a struct`,
	} {
		_, err := generate(inputOf(t, []byte("#Input: {\n\t"+field+"\n}")), testNames())
		if err == nil || !strings.Contains(errorText(err), want) || !strings.Contains(errorText(err), "at schema.cue:") {
			t.Errorf("%s: error %v, want %s", field, errorText(err), want)
		}
	}
	module, input := moduleOf([]byte(`#Input: {a?: int}
#Status: {b: int @k8s(rule="self > 1")}`))
	_, err := Generate(map[string]cue.Value{"v1alpha1": input}, statusOf(module), testNames())
	if err == nil || !strings.Contains(errorText(err), "belongs to #Input") {
		t.Errorf("a rule of #Status: %v", err)
	}
}
