package child

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// pruned returns an instance as the API server would return it if it had the CRD of the
// platform: without the fields that the schema lacks. Instances of a version that the
// platform doesn't serve stay as they are.
func (s *session) pruned(ctx context.Context, object json.RawMessage) (json.RawMessage, error) {
	if s.schemas == nil {
		d, err := s.describe(ctx)
		if err != nil {
			return nil, err
		}
		if s.schemas, err = schemasOf(d.CRD); err != nil {
			return nil, err
		}
	}
	var content map[string]any
	if err := utiljson.Unmarshal(object, &content); err != nil {
		return nil, err
	}
	apiVersion, _ := content["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || s.schemas[gv.Version] == nil {
		return object, nil
	}
	pruning.Prune(content, s.schemas[gv.Version], true)
	return protocol.Encode(content)
}

// schemasOf returns the schemas of the versions of a CRD.
func schemasOf(crd *apiextensionsv1.CustomResourceDefinition) (map[string]*structuralschema.Structural, error) {
	schemas := map[string]*structuralschema.Structural{}
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			return nil, err
		}
		structural, err := structuralschema.NewStructural(&internal)
		if err != nil {
			return nil, fmt.Errorf("the schema of version %s: %w", v.Name, err)
		}
		schemas[v.Name] = structural
	}
	return schemas, nil
}
