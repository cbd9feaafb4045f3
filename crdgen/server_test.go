package crdgen

import (
	"context"
	"fmt"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	cueyaml "cuelang.org/go/encoding/yaml"
	"go.yaml.in/yaml/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type crdType = apiextensionsv1.CustomResourceDefinition

// unify puts a document into #Input as rendering does: as syntax, in a file in
// the scope of the module, where definitions stay closed.
func unify(module cue.Value, doc *ast.StructLit) cue.Value {
	//lint:ignore SA1019 a scope is of use in its own context only
	return module.Context().BuildFile(&ast.File{Decls: []ast.Decl{
		&ast.EmbedDecl{Expr: ast.NewBinExpr(token.AND, ast.NewIdent("#Input"), doc)},
	}}, cue.Scope(module))
}

// syntaxOf reads a document.
func syntaxOf(doc []byte) (*ast.StructLit, error) {
	file, err := cueyaml.Extract("doc.yaml", doc)
	if err != nil {
		return nil, err
	}
	return &ast.StructLit{Elts: file.Decls}, nil
}

// server does to a document what an API server does when it is created.
type server struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newServer(t testing.TB, crd *crdType) server {
	t.Helper()
	s, err := serverOf(crd)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serverOf(crd *crdType) (server, error) {
	scheme, err := crdScheme()
	if err != nil {
		return server{}, err
	}
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(crd.DeepCopy(), &internal, nil); err != nil {
		return server{}, err
	}
	v, err := apiextensions.GetSchemaForVersion(&internal, crd.Spec.Versions[0].Name)
	if err != nil {
		return server{}, err
	}
	structural, err := structuralschema.NewStructural(v.OpenAPIV3Schema)
	if err != nil {
		return server{}, err
	}
	validator, _, err := validation.NewSchemaValidator(v.OpenAPIV3Schema)
	if err != nil {
		return server{}, err
	}
	return server{structural: structural, validator: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// create returns the spec as it is stored. Unknown fields are errors, as with
// kubectl's strict field validation. The steps and their order are those of the
// API server.
func (s server) create(doc []byte) ([]byte, error) {
	object, err := s.read(doc)
	if err != nil {
		return nil, err
	}
	if errs := s.problems(object, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return json.Marshal(object["spec"])
}

// update returns the API server's error about replacing old by doc.
func (s server) update(old, doc []byte) error {
	before, err := s.read(old)
	if err != nil {
		return err
	}
	after, err := s.read(doc)
	if err != nil {
		return err
	}
	return s.problems(after, before).ToAggregate()
}

// read is the object around a spec, pruned and defaulted.
func (s server) read(doc []byte) (map[string]any, error) {
	// Not sigs.k8s.io/yaml: Pequod refuses what YAML 1.1 reads differently.
	var content any
	if err := yaml.Unmarshal(doc, &content); err != nil {
		return nil, err
	}
	data, err := json.Marshal(content)
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
	return object, nil
}

func (s server) problems(object, old map[string]any) fieldpath.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, s.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(errs) > 0 {
		return errs // the API server evaluates no rules then
	}
	var before any
	if old != nil {
		before = old
	}
	errs, _ = s.rules.Validate(context.Background(), nil, s.structural, object, before, celconfig.RuntimeCELCostBudget)
	return errs
}
