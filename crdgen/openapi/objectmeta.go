package openapi

import (
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const refPrefix = "#/definitions/"

// embeddedTypeMeta returns the descriptions that the API server gives apiVersion and kind
// of an object that is a field of another one.
func embeddedTypeMeta() map[string]string {
	const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
	return map[string]string{
		"apiVersion": "apiVersion defines the versioned schema of this representation of an object. More info: " + conventions + "#resources",
		"kind":       "kind is a string value representing the type of this object. In CamelCase. More info: " + conventions + "#types-kinds",
	}
}

// addMeta sets the fields apiVersion, kind and metadata of an object. typeMeta has the
// descriptions of the first two.
func addMeta(s *apiextensionsv1.JSONSchemaProps, typeMeta map[string]string) {
	if s.Properties == nil {
		s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		s.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string", Description: typeMeta[name]}
	}
	s.Properties["metadata"] = described(apiextensionsv1.JSONSchemaProps{Ref: new(refPrefix + "ObjectMeta")},
		metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"])
}

// described returns s with a description. A reference can have none by itself, so the API
// server wraps it.
func described(s apiextensionsv1.JSONSchemaProps, text string) apiextensionsv1.JSONSchemaProps {
	if s.Ref != nil {
		s = apiextensionsv1.JSONSchemaProps{AllOf: []apiextensionsv1.JSONSchemaProps{s}}
	}
	s.Description = text
	return s
}

// docs returns the descriptions of a type in ObjectMeta, by field, and its own as "". A call
// by way of an interface would make the linker keep the descriptions of every API type.
func docs(t reflect.Type) map[string]string {
	switch t {
	case reflect.TypeFor[metav1.ObjectMeta]():
		return metav1.ObjectMeta{}.SwaggerDoc()
	case reflect.TypeFor[metav1.OwnerReference]():
		return metav1.OwnerReference{}.SwaggerDoc()
	case reflect.TypeFor[metav1.ManagedFieldsEntry]():
		return metav1.ManagedFieldsEntry{}.SwaggerDoc()
	case reflect.TypeFor[metav1.FieldsV1]():
		return metav1.FieldsV1{}.SwaggerDoc()
	}
	return nil
}

// definitions returns the schemas of ObjectMeta and of the types in it, by name.
func definitions() map[string]apiextensionsv1.JSONSchemaProps {
	all := map[string]apiextensionsv1.JSONSchemaProps{}
	schemaOf(reflect.TypeFor[metav1.ObjectMeta](), all)
	return all
}

// schemaOf returns the schema of a type. A struct becomes a reference to a definition in all.
func schemaOf(t reflect.Type, all map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	switch {
	case t == reflect.TypeFor[metav1.Time]():
		all[t.Name()] = apiextensionsv1.JSONSchemaProps{
			Type: "string", Format: "date-time",
			Description: "Time is a wrapper around time.Time which supports correct marshaling to YAML and JSON.  Wrappers are provided for many of the factory methods that the time package offers.",
		}
		return apiextensionsv1.JSONSchemaProps{Ref: new(refPrefix + t.Name())}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), all)
	case t.Kind() == reflect.Bool:
		return apiextensionsv1.JSONSchemaProps{Type: "boolean"}
	case t.Kind() == reflect.Int64:
		return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	case t.Kind() == reflect.Slice:
		elem := schemaOf(t.Elem(), all)
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &elem}}
	case t.Kind() == reflect.Map:
		elem := schemaOf(t.Elem(), all)
		return apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &elem, Allows: true}}
	case t.Kind() == reflect.Struct:
		if _, known := all[t.Name()]; !known {
			all[t.Name()] = structSchema(t, all)
		}
		return apiextensionsv1.JSONSchemaProps{Ref: new(refPrefix + t.Name())}
	}
	return apiextensionsv1.JSONSchemaProps{Type: "string"}
}

// structSchema returns the schema of a struct with the descriptions of its fields. Fields
// without omitempty are required.
func structSchema(t reflect.Type, all map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	doc := docs(t)
	s := apiextensionsv1.JSONSchemaProps{Type: "object", Description: doc[""]}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		if s.Properties == nil {
			s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		s.Properties[name] = described(schemaOf(f.Type, all), doc[name])
		if !slices.Contains(strings.Split(options, ","), "omitempty") {
			s.Required = append(s.Required, name)
		}
	}
	return s
}
