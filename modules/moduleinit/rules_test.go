package moduleinit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/kinds"
)

// definitionsOf reads the CRDs in files.
func definitionsOf(t *testing.T, files ...string) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A protected group needs an approval that no module has.
		data = bytes.ReplaceAll(data, []byte("gateway.networking.k8s.io"), []byte("gateway.example.com"))
		for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(doc, crd); err != nil {
				t.Fatal(err)
			}
			if crd.Kind == "CustomResourceDefinition" {
				all[crd.Name] = crd
			}
		}
	}
	return all
}

// rulesOf returns the rules in the spec of a CRD's stored version, by the path of their schema.
func rulesOf(crd *apiextensionsv1.CustomResourceDefinition) (map[string]apiextensionsv1.ValidationRules, int) {
	all, n := map[string]apiextensionsv1.ValidationRules{}, 0
	var walk func(at string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(at string, s *apiextensionsv1.JSONSchemaProps) {
		if n += len(s.XValidations); len(s.XValidations) > 0 {
			// CUE has equal attributes once.
			all[at] = slices.CompactFunc(slices.Clone(s.XValidations), func(a, b apiextensionsv1.ValidationRule) bool { return cmp.Equal(a, b) })
		}
		for name, p := range s.Properties {
			walk(at+"."+name, &p)
		}
		if s.Items != nil && s.Items.Schema != nil {
			walk(at+"[]", s.Items.Schema)
		}
		if a := s.AdditionalProperties; a != nil && a.Schema != nil {
			walk(at+".*", a.Schema)
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			walk("spec", &spec)
		}
	}
	return all, n
}

// generated returns the CRD that is generated from the schema of d.
func generated(t *testing.T, d *Definition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	input := render.NewContext().CompileBytes(d.schema).LookupPath(cue.ParsePath("#Input"))
	result, err := crdgen.Generate(map[string]cue.Value{d.version: input}, cue.Value{}, v1alpha1.Names{
		Group: d.group, Version: d.version, Kind: d.names.Kind, Plural: d.names.Plural, Singular: strings.ToLower(d.names.Kind),
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.CRD
}

// TestRulesOfRealDefinitions compares the rules of CRDs with those of the CRDs that their modules
// get: those of Pequod itself, of kcp and of the Gateway API. The latter two are test data of the
// API server.
func TestRulesOfRealDefinitions(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/apiextensions-apiserver").Output()
	if err != nil {
		t.Fatal(err)
	}
	upstream := strings.TrimSpace(string(dir))
	files := []string{
		filepath.Join(upstream, "pkg/test/example/apiexports_crd.yaml"),
		filepath.Join(upstream, "test/integration/ratcheting_test_cases/crds/standard-install.yaml"),
	}
	for _, pattern := range []string{"../../config/crd/*.pequod.io_*.yaml", "../../config/actions/crd/*.pequod.io_*.yaml"} {
		own, err := filepath.Glob(pattern)
		if err != nil || len(own) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, own...)
	}
	crds, total := definitionsOf(t, files...), 0
	for name, crd := range crds {
		if crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Type != "object" {
			continue
		}
		d, err := NewDefinition(crd)
		if err != nil {
			t.Fatal(name, err)
		}
		want, n := rulesOf(crd)
		got, _ := rulesOf(generated(t, d))
		if total += n; len(want) != len(got) {
			t.Errorf("%s: %d schemas have rules, want %d", name, len(got), len(want))
		}
		for at, rules := range want {
			if diff := cmp.Diff(rules, got[at]); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", name, at, diff)
			}
		}
	}
	if total < 150 {
		t.Errorf("%d rules in %d CRDs", total, len(crds))
	}
	checkVerdicts(t, crds["httproutes.gateway.example.com"])
}

// checkVerdicts compares what the API server says about specs of HTTPRoutes, with the CRD and with
// that of its module.
func checkVerdicts(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	d, err := NewDefinition(crd)
	if err != nil {
		t.Fatal(err)
	}
	original, err := kinds.NewCustom(crd)
	if err != nil {
		t.Fatal(err)
	}
	made, err := kinds.NewCustom(generated(t, d))
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]int{
		`{}`: 0,
		`{rules: [{matches: [{path: {value: /}}]}]}`:                                              0,
		`{rules: [{matches: [{path: {value: a//b}}]}]}`:                                           2,
		`{rules: [{filters: [{type: URLRewrite}]}]}`:                                              1,
		`{rules: [{filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath}}}]}]}`: 1,
		`{rules: [{backendRefs: [{name: b}]}]}`:                                                   1,
		`{parentRefs: [{name: a}, {name: a}]}`:                                                    1,
	} {
		messages := func(c *kinds.Custom) (all []string) {
			object := map[string]any{}
			if err := yaml.Unmarshal([]byte("apiVersion: gateway.example.com/"+d.version+"\nkind: HTTPRoute\nmetadata: {name: a}\nspec: "+spec), &object); err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Validate(d.version, object) {
				all = append(all, p.Path+": "+p.Message)
			}
			slices.Sort(all)
			return slices.Compact(all)
		}
		is := messages(original)
		if diff := cmp.Diff(is, messages(made)); diff != "" || len(is) != want {
			t.Errorf("%s: %d problems, want %d (-original +module)\n%s", spec, len(is), want, diff)
		}
	}
}

// TestRulesThatNeedMore checks that only the rules are left out that the schema of a module
// has no place for.
func TestRulesThatNeedMore(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(`
spec:
  group: example.com
  names: {kind: A, plural: as}
  versions:
  - name: v1
    storage: true
    served: true
    schema:
      openAPIV3Schema:
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: self.since < timestamp('2030-01-01T00:00:00Z')}, {rule: self.size > 1}]
            properties: {size: {type: integer}, since: {type: string, format: date-time}}
`), crd); err != nil {
		t.Fatal(err)
	}
	d, err := NewDefinition(crd)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := rulesOf(generated(t, d)); len(got["spec"]) != 1 || got["spec"][0].Rule != "self.size > 1" {
		t.Errorf("rules %v\n%s", got, d.schema)
	}
	if len(d.Notes) != 2 || !strings.Contains(d.Notes[1], "left out, add a violation to render.cue: self.since <") {
		t.Errorf("notes %q", d.Notes)
	}
}
