// Package openapi returns the schemas of kinds as an API server publishes them for
// kubectl: the schema of the CRD, and the type and object metadata that the server adds.
//
// [Kinds] is the entry point. Package crdgen/explain prints these schemas, and package
// crdgen/jsonschema turns them into JSON schemas for editors. The package needs no
// server.
package openapi

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Kind is one served version of a kind.
type Kind struct {
	Group, Version, Kind string
	// Plural, Singular and ShortNames are the other names of the kind for kubectl.
	Plural, Singular string
	ShortNames       []string
	// Schema is the schema of the whole object. Its Definitions are the types of Kubernetes
	// that references in it name; see [Kind.Resolve]. Callers must not change it.
	Schema apiextensionsv1.JSONSchemaProps
}

// APIVersion returns the apiVersion of objects of the kind.
func (k Kind) APIVersion() string { return k.Group + "/" + k.Version }

// Resolve returns the definition that s refers to, or s if it is no reference.
func (k Kind) Resolve(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if s.Ref == nil {
		return s
	}
	return k.Schema.Definitions[RefName(s)]
}

// Inline returns a copy of s in which definitions replace the references to them. The
// description of a field that is a reference stays.
func (k Kind) Inline(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	text := s.Description
	if len(s.AllOf) == 1 && s.AllOf[0].Ref != nil {
		s = s.AllOf[0]
	}
	s = k.Resolve(s)
	s = *s.DeepCopy()
	s.Definitions = nil
	if text != "" {
		s.Description = text
	}
	for name, p := range s.Properties {
		s.Properties[name] = k.Inline(p)
	}
	if s.Items != nil && s.Items.Schema != nil {
		*s.Items.Schema = k.Inline(*s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		*s.AdditionalProperties.Schema = k.Inline(*s.AdditionalProperties.Schema)
	}
	return s
}

// RefName returns the name of the definition that s refers to, or "".
func RefName(s apiextensionsv1.JSONSchemaProps) string {
	if s.Ref == nil {
		return ""
	}
	return strings.TrimPrefix(*s.Ref, refPrefix)
}

// Is reports whether name is one of the names of the kind: the kind, its plural, singular
// or a short name, in any case.
func (k Kind) Is(name string) bool {
	return slices.ContainsFunc(append([]string{k.Kind, k.Plural, k.Singular}, k.ShortNames...),
		func(own string) bool { return own != "" && strings.EqualFold(own, name) })
}

// Kinds returns the served versions of the kind that crd defines. The first is the one
// that an API server prefers.
func Kinds(crd *apiextensionsv1.CustomResourceDefinition) []Kind {
	names := crd.Spec.Names
	var all []Kind
	for _, v := range crd.Spec.Versions {
		if !v.Served || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		all = append(all, Kind{
			Group: crd.Spec.Group, Version: v.Name, Kind: names.Kind,
			Plural: names.Plural, Singular: names.Singular, ShortNames: names.ShortNames,
			Schema: published(v.Schema.OpenAPIV3Schema),
		})
	}
	slices.SortFunc(all, func(a, b Kind) int { return version.CompareKubeAwareVersionStrings(b.Version, a.Version) })
	return all
}

// published returns a schema with the fields that the API server adds to it and to the
// objects embedded in it. It leaves root as it is.
func published(root *apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	s := *root.DeepCopy()
	embed(&s)
	addMeta(&s, metav1.TypeMeta{}.SwaggerDoc())
	s.Definitions = definitions()
	return s
}

// embed adds the metadata of whole objects that are fields of s, at any depth.
func embed(s *apiextensionsv1.JSONSchemaProps) {
	for name, p := range s.Properties {
		embed(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embed(s.AdditionalProperties.Schema)
	}
	if !s.XEmbeddedResource {
		return
	}
	addMeta(s, embeddedTypeMeta())
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}
