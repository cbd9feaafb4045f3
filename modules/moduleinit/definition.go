package moduleinit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue/format"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
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
	return d, d.write()
}

// write writes the schema.
func (d *Definition) write() error {
	if d.spec.Type != "object" {
		return fmt.Errorf("the schema of the spec has the type %q, and not object", d.spec.Type)
	}
	w := &schemaWriter{imports: map[string]bool{}}
	body := comment(d.spec.Description) + "#Input: " + w.value("spec", &d.spec) + "\n"
	var head bytes.Buffer
	head.WriteString("package module\n\n")
	if len(w.imports) > 0 {
		fmt.Fprintf(&head, "import (\n%s\n)\n\n", strings.Join(slices.Sorted(maps.Keys(w.imports)), "\n"))
	}
	data, err := format.Source(append(head.Bytes(), body...))
	d.schema, d.Notes = data, w.notes
	return err
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
	instance, yamlErr := yaml.Marshal(map[string]any{
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
