package instance

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// Pooled returns a Renderer that renders in the processes of a pool.
func Pooled(pool *worker.Pool) Renderer { return pooled{pool} }

type pooled struct{ pool *worker.Pool }

// Render implements [Renderer]. A platform that the pool has forgotten is loaded again.
func (p pooled) Render(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error) {
	key := worker.Key{Transform: entry.Transform, Digest: entry.Digest}
	rendered, err := p.pool.Render(ctx, key, instance, instance.GetNamespace())
	if errors.Is(err, worker.ErrNotLoaded) {
		if _, err := p.pool.Load(ctx, key, entry.Sources); err != nil {
			return nil, nil, err
		}
		rendered, err = p.pool.Render(ctx, key, instance, instance.GetNamespace())
	}
	if err != nil {
		return nil, nil, err
	}
	return rendered.Graph, rendered.Problems, nil
}
