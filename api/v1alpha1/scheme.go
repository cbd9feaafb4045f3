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

// TransformList is a list of Transforms.
//
// +kubebuilder:object:root=true
type TransformList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Transform `json:"items"`
}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Transform{}, &TransformList{}, &Action{}, &ActionList{}, &Monitor{}, &MonitorList{}, &Receiver{}, &ReceiverList{})
	return AddGraphsToScheme(scheme)
}

// AddGraphsToScheme registers ResourceGraphs with a scheme. A program that uses no other kind
// links none.
func AddGraphsToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ResourceGraph{}, &ResourceGraphList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
