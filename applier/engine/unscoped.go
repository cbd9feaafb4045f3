package engine

import "k8s.io/apimachinery/pkg/runtime/schema"

// unscopedKind is a kind that the cluster didn't serve, or that wasn't looked up
// yet. An object of such a kind has no key: it is unknown whether the object has a
// namespace. Its node waits, and nothing is recorded for it.
type unscopedKind struct {
	retryState
	schema.GroupVersionKind
	// answered is set when the first Discover was answered, successfully or not.
	answered bool
}
