package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceGraphList is what a list of ResourceGraphs is answered with.
//
// +kubebuilder:object:root=true
type ResourceGraphList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ResourceGraph `json:"items"`
}

// AddToScheme makes ResourceGraphs known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ResourceGraph{}, &ResourceGraphList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
