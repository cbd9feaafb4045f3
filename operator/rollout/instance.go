package rollout

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Version identifies the content of a module.
type Version struct {
	// Digest is the digest of the content, as sha256:HEX, and Version its version, or "".
	Digest, Version string
}

// Instance is an instance as a rollout sees it.
type Instance struct {
	types.NamespacedName
	Labels, Annotations map[string]string

	// Digest is the digest of the module that rendered the graph of the instance, or "" if
	// the instance has no graph.
	Digest string
	// Change identifies the way in which the new version changes the graph. Instances of
	// the same impact group have equal values. It is empty if the graph stays the
	// same, apart from its platformRef. It has no meaning for instances that have the
	// new version.
	Change string
	// Refused explains why the new version refuses the instance, although the instance has
	// a graph. It is empty if it doesn't.
	Refused string

	// Ready is set if all nodes of the graph are ready, and Failed if the instance can't
	// become ready without a change. Both describe the graph that Digest belongs to.
	Ready, Failed bool
	// Message explains a failure.
	Message string
}

// name returns the instance as the status of a rollout shows it.
func (in *Instance) name() string {
	if in.Namespace == "" {
		return in.Name
	}
	return in.Namespace + "/" + in.Name
}

// Held reports whether the instance is pinned to a version other than v.
func (in *Instance) Held(v Version) bool {
	pin, ok := in.Annotations[v1alpha1.AnnotationPinnedVersion]
	return ok && pin != v.Digest && (v.Version == "" || pin != v.Version)
}
