// Package fluxowner finds the object of Flux that has applied an object.
//
// [Of] is the entry point. Flux labels what it applies; whoever may write an object can set the same labels, so
// nothing that needs trust may depend on them.
package fluxowner

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of Flux that label what they apply.
var (
	Kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	HelmRelease   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

	kinds = []schema.GroupVersionKind{Kustomization, HelmRelease}
)

// Of returns the object of Flux that applied an object with these labels, nil if none did.
func Of(labels map[string]string) *corev1.ObjectReference {
	for _, kind := range kinds {
		if by := reference(kind, labels[kind.Group+"/namespace"], labels[kind.Group+"/name"]); by != nil {
			return by
		}
	}
	return nil
}

// Related returns what [Of] returns as the related object of an Event, which is a nil interface if there is none.
func Related(labels map[string]string) runtime.Object {
	if by := Of(labels); by != nil {
		return by
	}
	return nil
}

// Text returns what [Of] returns as KIND/NAMESPACE/NAME, or "".
func Text(labels map[string]string) string {
	if by := Of(labels); by != nil {
		return by.Kind + "/" + by.Namespace + "/" + by.Name
	}
	return ""
}

// Parse returns the object of a text that [Text] has made, nil if it is another text.
func Parse(text string) *corev1.ObjectReference {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil
	}
	for _, kind := range kinds {
		if parts[0] == kind.Kind {
			return reference(kind, parts[1], parts[2])
		}
	}
	return nil
}

// reference returns a reference, or nil without both names.
func reference(kind schema.GroupVersionKind, namespace, name string) *corev1.ObjectReference {
	if name == "" || namespace == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: namespace, Name: name}
}

// Is reports whether a reference is to an object of a kind.
func Is(by *corev1.ObjectReference, kind schema.GroupVersionKind) bool {
	return by != nil && by.Kind == kind.Kind && by.GroupVersionKind().Group == kind.Group
}
