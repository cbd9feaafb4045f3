package instances

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// Pooled returns a Validator that evaluates in the processes of a pool.
func Pooled(pool *worker.Pool) Validator { return pooled{pool} }

type pooled struct{ pool *worker.Pool }

// Validate implements [Validator]. A platform that the pool has forgotten is loaded again.
func (p pooled) Validate(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (problem.List, error) {
	key := worker.Key{Transform: entry.Transform, Digest: entry.Digest}
	problems, err := p.pool.Validate(ctx, key, instance, instance.GetNamespace())
	if errors.Is(err, worker.ErrNotLoaded) {
		if _, err := p.pool.Load(ctx, key, entry.Sources); err != nil {
			return nil, err
		}
		problems, err = p.pool.Validate(ctx, key, instance, instance.GetNamespace())
	}
	return problems, err
}
