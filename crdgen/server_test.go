package crdgen

import (
	"fmt"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueyaml "cuelang.org/go/encoding/yaml"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

type crdType = apiextensionsv1.CustomResourceDefinition

// unify puts a document into the schema.
func unify(input cue.Value, doc []byte) cue.Value {
	file, err := cueyaml.Extract("doc.yaml", doc)
	if err != nil {
		panic(err)
	}
	return input.Unify(input.Context().BuildExpr(&ast.StructLit{Elts: file.Decls}))
}

// server does to a document what an API server does when it is created.
type server struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newServer(t *testing.T, crd *crdType) server {
	t.Helper()
	scheme, err := crdScheme()
	if err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(crd.DeepCopy(), &internal, nil); err != nil {
		t.Fatal(err)
	}
	v, err := apiextensions.GetSchemaForVersion(&internal, crd.Spec.Versions[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(v.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(v.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return server{structural: structural, validator: validator}
}

// admit returns the spec as it is stored. Unknown fields are errors, as with
// kubectl's strict field validation.
func (s server) admit(doc []byte) ([]byte, error) {
	data, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return nil, err
	}
	var spec any
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, err
	}
	object := map[string]any{"apiVersion": "pequod.io/v1alpha1", "kind": "Thing", "metadata": map[string]any{"name": "x"}, "spec": spec}
	unknown := pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown fields %v", unknown)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	if errs := validation.ValidateCustomResource(fieldpath.NewPath(""), object, s.validator); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return yaml.Marshal(object["spec"])
}
