package moduleinit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/format"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlout"
	"github.com/pequod-io/pequod/render"
)

// Definition is a kind that a module takes over: its names, and the schema of its spec.
type Definition struct {
	names   apiextensionsv1.CustomResourceDefinitionNames
	group   string // "" for the default
	version string
	scope   apiextensionsv1.ResourceScope
	spec    apiextensionsv1.JSONSchemaProps
	schema  []byte // schema.cue
	// Notes are lines about parts of the schema that the module does not have.
	Notes []string
}

// NewDefinition returns the definition of a CRD, in the version in which objects are stored.
func NewDefinition(crd *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		return nil, errors.New("no version is stored")
	}
	v := crd.Spec.Versions[i]
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("version %s has no schema", v.Name)
	}
	spec, ok := v.Schema.OpenAPIV3Schema.Properties["spec"]
	if !ok {
		return nil, fmt.Errorf("version %s has no spec, which is what a module renders from", v.Name)
	}
	d := &Definition{names: crd.Spec.Names, group: crd.Spec.Group, version: v.Name, scope: crd.Spec.Scope, spec: spec}
	if d.spec.Type != "object" {
		return nil, fmt.Errorf("the schema of the spec has the type %q, and not object", d.spec.Type)
	}
	// What the module lacks of the schema may make rules invalid. These are left out, and the
	// others of the same fields are tried one by one.
	without := map[celRule]bool{}
	rules, err := d.write(without)
	for refused := d.refused(rules); err == nil && len(refused) > 0; refused = d.refused(rules) {
		for _, r := range refused {
			without[r] = true
		}
		for _, r := range refused {
			delete(without, r)
			if rules, err = d.write(without); err != nil || slices.Contains(d.refused(rules), r) {
				without[r] = true
			}
		}
		rules, err = d.write(without)
	}
	for _, other := range crd.Spec.Versions {
		if other.Name != v.Name && other.Served {
			d.Notes = append(d.Notes, "version "+other.Name+" is left out, which is served, too; add it to #Versions")
		}
	}
	if len(v.AdditionalPrinterColumns) > 0 {
		d.Notes = append(d.Notes, "the columns of kubectl get are left out; add printerColumns to platform.cue")
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		d.Notes = append(d.Notes, "the subresource scale is left out; add scale to platform.cue")
	}
	if len(v.Schema.OpenAPIV3Schema.Properties["status"].Properties) > 0 {
		d.Notes = append(d.Notes, "the fields of the status are left out; add #Status")
	}
	for _, r := range v.Schema.OpenAPIV3Schema.XValidations {
		d.Notes = append(d.Notes, "the rule of CEL is left out, because it is about more than the spec: "+r.Rule)
	}
	return d, err
}

// refused returns those of the rules that are in fields whose rules the CRD of the module
// can't have.
func (d *Definition) refused(rules []celRule) (refused []celRule) {
	if len(rules) == 0 {
		return nil
	}
	input := render.NewContext().CompileBytes(d.schema).LookupPath(cue.ParsePath("#Input"))
	_, err := crdgen.Generate(map[string]cue.Value{d.version: input}, cue.Value{}, v1alpha1.Names{
		Group: cmp.Or(d.group, v1alpha1.DefaultGroup), Version: d.version, Kind: d.names.Kind, Plural: d.names.Plural, Singular: strings.ToLower(d.names.Kind),
	})
	var found problem.List
	errors.As(err, &found) // other errors are not about rules
	for _, r := range rules {
		if slices.ContainsFunc(found, func(p problem.Problem) bool { return p.Path == r.path }) {
			refused = append(refused, r)
		}
	}
	return refused
}

// write writes the schema without some rules, and returns the others.
func (d *Definition) write(without map[celRule]bool) ([]celRule, error) {
	w := &schemaWriter{imports: map[string]bool{}, without: without}
	value := w.value("spec", &d.spec)
	if rules := w.ownRules("spec", "", &d.spec); len(rules) > 0 {
		value = strings.Replace(value, "{", "{\n"+strings.Join(rules, "\n")+"\n", 1)
	}
	body := comment(d.spec.Description) + "#Input: " + value + "\n"
	var head bytes.Buffer
	head.WriteString("package module\n\n")
	if len(w.imports) > 0 {
		fmt.Fprintf(&head, "import (\n%s\n)\n\n", strings.Join(slices.Sorted(maps.Keys(w.imports)), "\n"))
	}
	data, err := format.Source(append(head.Bytes(), body...))
	d.schema, d.Notes = data, w.notes
	return w.rules, err
}

// files implements [Source]: it returns the templates with the kind and the schema, a template
// that renders a ConfigMap, and a test case with the required fields.
func (d *Definition) files(name string) (map[string][]byte, error) {
	all, err := templateFiles{}.files(name)
	if err != nil {
		return nil, err
	}
	for file := range all {
		if strings.HasPrefix(file, "tests/") {
			delete(all, file)
		}
	}
	all["schema.cue"] = bytes.Replace(d.schema, []byte("package module"), []byte("package "+packageName(name)), 1)
	var platform bytes.Buffer
	fmt.Fprintf(&platform, "package %s\n\n// What the kind is called.\n#Platform: {\nkind: %q\nversion: %q\n", packageName(name), d.names.Kind, d.version)
	optional := func(field string, value any, given bool) error {
		text, err := json.Marshal(value)
		if given {
			fmt.Fprintf(&platform, "%s: %s\n", field, text)
		}
		return err
	}
	err = errors.Join(optional("group", d.group, d.group != ""), optional("plural", d.names.Plural, d.names.Plural != ""),
		optional("shortNames", d.names.ShortNames, len(d.names.ShortNames) > 0), optional("categories", d.names.Categories, len(d.names.Categories) > 0),
		optional("scope", d.scope, d.scope == apiextensionsv1.ClusterScoped))
	platform.WriteString("}\n")
	render := fmt.Sprintf(`package %s

import "encoding/json"

// What a %s becomes. Replace the ConfigMap, which only shows the input.
#Render: {
	input: {
		metadata: {name: string, namespace: string}
		spec: #Input
	}

	output: #Graph & {
		nodes: config: resource: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
			data: "spec.json": json.Marshal(input.spec)
		}
	}
}
`, packageName(name), d.names.Kind)
	for file, text := range map[string][]byte{"platform.cue": platform.Bytes(), "render.cue": []byte(render)} {
		data, formatErr := format.Source(text)
		err = errors.Join(err, formatErr)
		all[file] = data
	}
	group := d.group
	if group == "" {
		group = "pequod.io"
	}
	instance, yamlErr := yamlout.Marshal(map[string]any{
		"apiVersion": group + "/" + d.version, "kind": d.names.Kind, "metadata": map[string]any{"name": name}, "spec": exampleOf(&d.spec),
	})
	all["tests/basic/instance.yaml"] = instance
	return all, errors.Join(err, yamlErr)
}

// exampleOf returns a value with the required fields of a schema. A pattern may refuse its strings.
func exampleOf(s *apiextensionsv1.JSONSchemaProps) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "object":
		all := map[string]any{}
		for _, name := range s.Required {
			if p, ok := s.Properties[name]; ok && p.Default == nil {
				all[name] = exampleOf(&p)
			}
		}
		return all
	case "array":
		all := []any{}
		for s.MinItems != nil && int64(len(all)) < *s.MinItems && s.Items != nil && s.Items.Schema != nil {
			all = append(all, exampleOf(s.Items.Schema))
		}
		return all
	case "boolean":
		return false
	case "integer", "number":
		switch {
		case s.Minimum != nil && s.ExclusiveMinimum:
			return *s.Minimum + 1
		case s.Minimum != nil:
			return *s.Minimum
		case s.Maximum != nil:
			return *s.Maximum - 1
		}
		return 1
	}
	return "example"
}
