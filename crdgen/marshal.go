package crdgen

import (
	"bytes"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Marshal writes crd as YAML with sorted keys, without the status and the
// creation timestamp, which only an API server sets. Equal CRDs give equal bytes.
// The order of keys is alphabetic at every level, and numbers keep their digits.
func Marshal(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	data, err := json.Marshal(crd)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: writing: %w", crd.Name, err)
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // keeps integers beyond 2^53 exact
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: writing: %w", crd.Name, err)
	}
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	out, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: writing: %w", crd.Name, err)
	}
	return out, nil
}
