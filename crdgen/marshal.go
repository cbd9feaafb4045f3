package crdgen

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/internal/source/yamlout"
)

// Marshal writes crd as YAML with sorted keys, without the status and the
// creation timestamp, which only an API server sets. Equal CRDs give equal bytes.
// The order of keys is alphabetic at every level, and numbers keep their digits.
func Marshal(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	object := struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta                            `json:"metadata"`
		Spec            apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
	}{crd.TypeMeta, crd.ObjectMeta, crd.Spec}
	object.Metadata.CreationTimestamp = metav1.Time{}
	out, err := yamlout.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: writing: %w", crd.Name, err)
	}
	return out, nil
}
