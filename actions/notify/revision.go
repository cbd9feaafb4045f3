package notify

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/fluxowner"
)

// Kustomizations is the resource that [Options].Kustomizations reads.
var Kustomizations = fluxowner.Kustomization.GroupVersion().WithResource("kustomizations")

// Revision is the revision of the source that a Kustomization has applied.
type Revision struct {
	// Source is the revision of the source, such as main@sha1:HEX, or "" if it is unknown.
	Source string
	// Origin is that of the repository from which an OCI artifact was made, or "".
	Origin string
}

// RevisionOf returns the revision of the objects that a Kustomization has applied. While it applies the
// next one, or waits until that is healthy, it is the next one, which the status doesn't have as applied yet.
func RevisionOf(kustomization *unstructured.Unstructured) Revision {
	of := func(field string) string {
		value, _, _ := unstructured.NestedString(kustomization.Object, "status", field)
		return value
	}
	applied := Revision{Source: of("lastAppliedRevision"), Origin: of("lastAppliedOriginRevision")}
	attempted := of("lastAttemptedRevision")
	if attempted == "" || attempted == applied.Source {
		return applied
	}
	conditions, _, _ := unstructured.NestedSlice(kustomization.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == "Ready" && c["status"] == string(metav1.ConditionFalse) && c["reason"] != "HealthCheckFailed" {
			return applied // for example, the next one can't be built
		}
	}
	return Revision{Source: attempted}
}

// revision returns the revision of what an object of Flux has applied. It is unknown if the object isn't a
// Kustomization, is gone, or if the program may not read it.
func (n *notifier) revision(ctx context.Context, by *corev1.ObjectReference) (Revision, error) {
	if n.Kustomizations == nil || !fluxowner.Is(by, fluxowner.Kustomization) {
		return Revision{}, nil
	}
	found, err := n.Kustomizations.Namespace(by.Namespace).Get(ctx, by.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Revision{}, nil
	case apierrors.IsForbidden(err):
		// A notice without a revision is better than none.
		n.refused.Do(func() {
			n.log.Error(err, "notifications have no revision, which needs the right to read Kustomizations")
		})
		return Revision{}, nil
	case err != nil:
		return Revision{}, fmt.Errorf("reading the Kustomization %s/%s: %w", by.Namespace, by.Name, err)
	}
	return RevisionOf(found), nil
}
