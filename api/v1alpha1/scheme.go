package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceGraphList is a list of ResourceGraphs.
//
// +kubebuilder:object:root=true
type ResourceGraphList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ResourceGraph `json:"items"`
}

// AddToScheme registers ResourceGraph with a scheme. Transform is not registered:
// no program reads Transforms from a cluster yet.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ResourceGraph{}, &ResourceGraphList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
