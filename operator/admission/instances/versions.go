package instances

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
)

// Version returns the version of a platform that renders an instance: the one that it is pinned
// to, and during a rollout the one that has rendered it. A new instance is checked with the
// current version, and so is one whose version the platform lacks.
func Version(e *catalog.Entry, instance *unstructured.Unstructured) *catalog.Entry {
	module, pinned := instance.GetAnnotations()[v1alpha1.AnnotationPinnedVersion]
	if !pinned && e.Rollout != nil {
		module, _, _ = unstructured.NestedString(instance.Object, "status", "module", "digest")
	}
	if at := e.At(module); at != nil {
		return at
	}
	return e
}
