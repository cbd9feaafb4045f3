package transform

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/worker"
)

// Fetcher opens the module and the policies of a Transform, with the credentials of its
// namespace, as [fetch.Fetcher] does. Its errors have a [fetch.Reason].
type Fetcher interface {
	Fetch(ctx context.Context, t *v1alpha1.Transform) (*Fetched, error)
}

// Fetched are the sources of a platform.
type Fetched = fetch.Fetched

// Loader evaluates the sources of platforms in worker processes, as [worker.Pool] does.
type Loader interface {
	// Load returns what a platform consists of. A [problem.List] means that the module is
	// wrong, and a [*worker.LimitError] that its evaluation was given up.
	Load(ctx context.Context, key worker.Key, sources []byte) (*worker.Loaded, error)
	// Sample returns graphs of made-up instances of a platform. A [*worker.LimitError] means that
	// their evaluation was given up.
	Sample(ctx context.Context, key worker.Key, sources []byte) ([]*v1alpha1.ResourceGraph, error)
	// Forget ends what was loaded for a Transform.
	Forget(transform types.NamespacedName)
}
