package instance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// Sources has the sources of versions of a platform that an entry of the catalog lists without
// them, as package revision.
type Sources interface {
	// Read returns the sources with a digest.
	Read(ctx context.Context, transform types.NamespacedName, digest string) ([]byte, error)
}

// Pooled returns a Renderer that renders in the processes of a pool.
func Pooled(pool *worker.Pool, sources Sources) Renderer {
	return &pooled{pool: pool, sources: sources, former: map[formerKey]string{}}
}

type pooled struct {
	pool    *worker.Pool
	sources Sources

	mu sync.Mutex // guards former
	// former are the digests of sources with the module of a former version.
	former map[formerKey]string
}

// formerKey has the digests of the former and of the current sources.
type formerKey struct {
	transform       types.NamespacedName
	former, current string
}

// maxFormer bounds the digests that are remembered. They can be computed again.
const maxFormer = 1000

// Render implements [Renderer]. A platform that the pool has forgotten is added again.
func (p *pooled) Render(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error) {
	key := worker.Key{Transform: entry.Transform, Digest: entry.Digest}
	render := p.pool.Render
	if entry.Former != "" {
		render = p.pool.RenderPruned
		p.mu.Lock()
		key.Digest = p.former[formerKey{entry.Transform, entry.Former, entry.Digest}]
		p.mu.Unlock()
	}
	rendered, err := render(ctx, key, instance, instance.GetNamespace())
	if errors.Is(err, worker.ErrNotLoaded) {
		sources := entry.Sources
		if entry.Former != "" {
			if sources, key.Digest, err = p.formerSources(ctx, entry); err != nil {
				return nil, nil, fmt.Errorf("the sources of module %s: %w", entry.Module.Digest, err)
			}
		}
		if err := p.pool.Add(key, sources); err != nil {
			return nil, nil, err
		}
		rendered, err = render(ctx, key, instance, instance.GetNamespace())
	}
	if err != nil {
		return nil, nil, err
	}
	return rendered.Graph, rendered.Problems, nil
}

// formerSources returns the sources of a former version with the policies of the current one,
// and their digest.
func (p *pooled) formerSources(ctx context.Context, entry *catalog.Entry) ([]byte, string, error) {
	former, err := p.sources.Read(ctx, entry.Transform, entry.Former)
	if err != nil {
		return nil, "", err
	}
	if got := transform.Digest(former); got != entry.Former {
		return nil, "", fmt.Errorf("they have the digest %s, not %s", got, entry.Former)
	}
	sources, err := transform.Former(former, entry.Sources)
	if err != nil {
		return nil, "", err
	}
	digest := transform.Digest(sources)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.former) >= maxFormer {
		clear(p.former)
	}
	p.former[formerKey{entry.Transform, entry.Former, entry.Digest}] = digest
	return sources, digest, nil
}
