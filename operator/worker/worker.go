package worker

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Key identifies a platform as it was at one time: a Transform, and what its references
// referred to.
type Key struct {
	Transform types.NamespacedName
	// Digest is the digest of the encoded sources: "sha256:" and 64 hex digits.
	Digest string
}

// Loaded is what [Pool.Load] finds out about a platform.
type Loaded struct {
	// CRD is the CRD that pequod crd generate prints.
	CRD    *apiextensionsv1.CustomResourceDefinition
	Names  v1alpha1.Names
	Module Content
	// Notes are warnings and notes about the CRD.
	Notes problem.List
	// StatusFields are the names of the fields of the module's #Status.
	StatusFields []string
	// IgnoresLabels and IgnoresAnnotations are set if the module doesn't see the labels or
	// the annotations of instances.
	IgnoresLabels, IgnoresAnnotations bool
	// Converts is set if the module defines a conversion between versions of the kind.
	Converts bool
}

// Content identifies the content of a module.
type Content struct {
	// Digest is the digest of the module, as in spec.platformRef of its graphs.
	Digest string
	// Version is "" for modules without versions.
	Version string
}

// Rendered is the result of rendering an instance.
type Rendered struct {
	// Graph is nil if Problems has an error.
	Graph *v1alpha1.ResourceGraph
	// Problems of an object of the API server have no positions in the instance, but paths.
	Problems problem.List
}

// LimitError reports an evaluation that was given up because it took too much time or memory.
// Its process has ended.
type LimitError struct {
	// Platform is the name of the platform.
	Platform string
	// Limit is what was exceeded.
	Limit Limit
	// Reason is the limit with its value, for users.
	Reason string
}

// Limit is a kind of limit.
type Limit string

// The limits of an evaluation.
const (
	LimitTime   Limit = "timeout"
	LimitMemory Limit = "memory"
	// LimitDepth is that of a recursion.
	LimitDepth Limit = "recursion"
	// LimitPanic is none: the evaluation panicked, which ends it just as well.
	LimitPanic Limit = "panic"
)

// Error returns the platform and the reason.
func (e *LimitError) Error() string { return fmt.Sprintf("platform %s: %s", e.Platform, e.Reason) }

// ErrNotLoaded reports a platform whose sources the pool does not have, or has no more. The
// caller should call [Pool.Load] again.
var ErrNotLoaded = errors.New("the platform is not loaded")

// ErrClosed reports that the pool was closed.
var ErrClosed = errors.New("the pool of evaluation processes is closed")
