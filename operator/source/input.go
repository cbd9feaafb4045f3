package source

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// sourceKey returns the namespace and the name of the source of an InstanceSource.
func sourceKey(s *v1alpha1.InstanceSource) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(s.Spec.SourceRef.Namespace, s.Namespace), Name: s.Spec.SourceRef.Name}
}

// artifactOf returns status.artifact of a source, or nil if it has none.
func artifactOf(object *unstructured.Unstructured) (*meta.Artifact, error) {
	value, found, err := unstructured.NestedMap(object.Object, "status", "artifact")
	if err != nil || !found {
		return nil, err
	}
	a := &meta.Artifact{}
	return a, runtime.DefaultUnstructuredConverter.FromUnstructured(value, a)
}

// input returns the artifact of the source of an InstanceSource.
func (s *session) input(ctx context.Context) (*meta.Artifact, *failure) {
	ref, key := s.source.Spec.SourceRef, sourceKey(s.source)
	name := fmt.Sprintf("%s %s", ref.Kind, key)
	if s.NoCrossNamespace && key.Namespace != s.source.Namespace {
		return nil, &failure{
			reason: reasonAccessDenied, stalled: true,
			message: "spec.sourceRef.namespace: " + name + " is in another namespace, which --no-cross-namespace-refs of pequod-manager forbids",
		}
	}
	object, f := s.flux.get(ctx, ref.Kind, key)
	switch {
	case f != nil:
		return nil, f
	case object == nil:
		return nil, &failure{reason: reasonSourceNotFound, message: name + " doesn't exist"}
	}
	a, err := artifactOf(object)
	switch {
	case err != nil:
		return nil, &failure{reason: reasonArtifactInvalid, message: name + ": status.artifact: " + err.Error()}
	case a == nil:
		return nil, &failure{reason: reasonSourceNotReady, message: name + " has no artifact yet"}
	}
	return a, nil
}
