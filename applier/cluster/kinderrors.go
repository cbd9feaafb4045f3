package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NoKindError is returned for a kind that the cluster doesn't serve.
type NoKindError struct{ GVK schema.GroupVersionKind }

// Error names the usual cause, a CustomResourceDefinition that isn't installed.
func (e *NoKindError) Error() string {
	return fmt.Sprintf("the cluster knows no %s of %s; check its apiVersion, or install its CustomResourceDefinition", e.GVK.Kind, e.GVK.GroupVersion())
}

// isNoKind reports whether an error is a [*NoKindError].
func isNoKind(err error) bool {
	var noKind *NoKindError
	return errors.As(err, &noKind)
}

// UnavailableKindError is returned for a kind that the cluster may well have, although
// it can't be requested now: its API group can't be discovered, for example because
// its aggregated API server is down, or its CustomResourceDefinition serves no version.
// Unlike after a [NoKindError], its objects may exist.
type UnavailableKindError struct {
	GVK schema.GroupVersionKind
	// Cause is the error of the discovery, or why no version is served.
	Cause error
}

// Error names the kind and the cause.
func (e *UnavailableKindError) Error() string {
	return fmt.Sprintf("%s of %s isn't available now: %v", e.GVK.Kind, e.GVK.GroupVersion(), e.Cause)
}

// Unwrap returns the cause.
func (e *UnavailableKindError) Unwrap() error { return e.Cause }

// unavailable returns an [*UnavailableKindError] if an error of a discovery may be about
// the kind, and the error itself otherwise.
func unavailable(gvk schema.GroupVersionKind, err error) error {
	if ConcernsKind(err) {
		return &UnavailableKindError{gvk, err}
	}
	return err
}

// ConcernsKind reports whether a failed list, watch or discovery may be about its kind
// alone: the API server answered with an error, or didn't answer in time, as if a
// conversion webhook or an aggregated API server is down. It returns false for errors of
// the network.
func ConcernsKind(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || errors.Is(err, context.DeadlineExceeded)
}
