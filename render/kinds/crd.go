package kinds

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/internal/problem"
)

// Custom is a kind that a CustomResourceDefinition defines. It is not changed
// after NewCustom.
type Custom struct {
	schema.GroupKind
	versions map[string]*customVersion // the served ones, by name
	served   []string                  // their names, the preferred first
}

// customVersion is one served version of a custom kind.
type customVersion struct {
	typ *Type // for field names and types
	// structural and validator are for the API server's validation.
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	// rules returns the validator of the CEL rules, or nil if there are none. It is made
	// on first use.
	rules func() *cel.Validator
}

// IsDefinition reports whether a document is a CustomResourceDefinition of any
// version.
func IsDefinition(apiVersion, kind string) bool {
	return kind == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/")
}

// ParseDefinition reads a CustomResourceDefinition from YAML or JSON. It must
// have the version v1: the API server has not served v1beta1 since Kubernetes
// 1.22.
func ParseDefinition(data []byte) (*Custom, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, err
	}
	if crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("%s %s is gone since Kubernetes 1.22: use %s", crd.APIVersion, crd.Kind, apiextensionsv1.SchemeGroupVersion)
	}
	return NewCustom(&crd)
}

// NewCustom returns the kind of a definition. The definition must have a
// structural schema for each served version; versions that are not served are
// ignored.
func NewCustom(crd *apiextensionsv1.CustomResourceDefinition) (*Custom, error) {
	c := &Custom{
		GroupKind: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
		versions:  map[string]*customVersion{},
	}
	if c.Group == "" || c.Kind == "" || len(crd.Spec.Versions) == 0 {
		return nil, fmt.Errorf("CustomResourceDefinition %s: needs spec.group, spec.names.kind and spec.versions", crd.Name)
	}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: version %s has no schema", crd.Name, v.Name)
		}
		version, err := newVersion(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: version %s: %w", crd.Name, v.Name, err)
		}
		c.versions[v.Name] = version
		c.served = append(c.served, v.Name)
	}
	slices.SortFunc(c.served, byPriority)
	return c, nil
}

// newVersion prepares a schema for both kinds of checks: the walk over known
// fields, and the API server's validation. Only the first error of an invalid
// schema is returned.
func newVersion(props *apiextensionsv1.JSONSchemaProps) (*customVersion, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	if errs := structuralschema.ValidateStructural(nil, structural); len(errs) > 0 {
		return nil, errs[0]
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	return &customVersion{typ: withObjectMeta(customType(structural)), structural: structural, validator: validator, rules: sync.OnceValue(func() *cel.Validator {
		return cel.NewValidator(structural, true, celconfig.PerCallLimit)
	})}, nil
}

// version returns a served version, or the problem that there is none.
func (c *Custom) version(name string) (*customVersion, *problem.Problem) {
	if v := c.versions[name]; v != nil {
		return v, nil
	}
	return nil, newProblem("apiVersion", fmt.Sprintf("%s has no version %s", c.GroupKind, name), "served: "+strings.Join(c.served, ", "))
}

// withObjectMeta adds the fields that every object has to the type of an object,
// whatever the definition has for them. It returns t, which it changes.
func withObjectMeta(t *Type) *Type {
	b := table()
	if t.fields == nil {
		t.fields = map[string]*Type{}
	}
	t.kind = kindStruct
	t.fields["apiVersion"], t.fields["kind"], t.fields["metadata"] = b.named(kindString), b.named(kindString), b.named("meta/v1.ObjectMeta")
	return t
}

// customType returns the type that a structural schema describes.
//
// Only field names and JSON types are taken over. Everything else in the schema
// is left to the validator. A schema without a type admits any value.
func customType(s *structuralschema.Structural) *Type {
	t := &Type{kind: kindAny, open: s.XPreserveUnknownFields}
	switch {
	case s.XIntOrString:
		t.kind = kindIntOrString
	case s.Type == "object" && s.AdditionalProperties != nil && len(s.Properties) == 0:
		t.kind, t.elem = kindMap, anyType()
		if of := s.AdditionalProperties.Structural; of != nil {
			t.elem = customType(of)
		}
	case s.Type == "object":
		t.kind, t.fields = kindStruct, map[string]*Type{}
		for name, p := range s.Properties {
			t.fields[name] = customType(&p)
		}
		// Named fields besides additional ones: the others are not checked.
		if s.AdditionalProperties != nil {
			t.open = true
		}
		if s.XEmbeddedResource {
			withObjectMeta(t)
		}
	case s.Type == "array":
		t.kind, t.elem = kindList, anyType()
		if s.Items != nil {
			t.elem = customType(s.Items)
		}
	case s.Type == "string":
		t.kind = kindString
	case s.Type == "boolean":
		t.kind = kindBool
	case s.Type == "integer":
		t.kind = kindInt64
	case s.Type == "number":
		t.kind = kindNumber
	}
	return t
}
