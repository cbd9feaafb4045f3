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

// Pooled returns an Evaluator for the processes of a pool.
func Pooled(pool *worker.Pool, sources Sources) *Evaluator {
	return &Evaluator{pool: pool, sources: sources, former: map[formerKey]string{}}
}

// Evaluator renders and checks instances in the processes of a pool. It is safe for concurrent
// use.
type Evaluator struct {
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

// Render implements [Renderer].
func (p *Evaluator) Render(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error) {
	render := p.pool.Render
	if entry.Former != "" {
		render = p.pool.RenderPruned
	}
	var rendered *worker.Rendered
	err := p.evaluate(ctx, entry, func(key worker.Key) (err error) {
		rendered, err = render(ctx, key, instance, instance.GetNamespace())
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return rendered.Graph, rendered.Problems, nil
}

// RenderDocument renders an instance in a file with the current version of a platform. namespace is
// that of an instance without one. Problems have positions in the file. An error that is a
// [problem.List] means that the platform is wrong; any other error may pass.
func (p *Evaluator) RenderDocument(ctx context.Context, entry *catalog.Entry, doc worker.Document, namespace string) (rendered *worker.Rendered, err error) {
	err = p.evaluate(ctx, entry, func(key worker.Key) (err error) {
		rendered, err = p.pool.RenderDocument(ctx, key, doc, namespace)
		return err
	})
	return rendered, err
}

// Validate returns the problems that Render finds. It precedes renderings that wait.
func (p *Evaluator) Validate(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (problems problem.List, err error) {
	validate := p.pool.Validate
	if entry.Former != "" {
		validate = p.pool.ValidatePruned
	}
	err = p.evaluate(ctx, entry, func(key worker.Key) (err error) {
		problems, err = validate(ctx, key, instance, instance.GetNamespace())
		return err
	})
	return problems, err
}

// evaluate calls f with the key of the platform in the pool. If the pool has forgotten the
// platform, it is added, and f called again.
func (p *Evaluator) evaluate(ctx context.Context, entry *catalog.Entry, f func(worker.Key) error) error {
	key := worker.Key{Transform: entry.Transform, Digest: entry.Digest}
	if entry.Former != "" {
		p.mu.Lock()
		key.Digest = p.former[formerKey{entry.Transform, entry.Former, entry.Digest}]
		p.mu.Unlock()
	}
	err := f(key)
	if !errors.Is(err, worker.ErrNotLoaded) {
		return err
	}
	sources := entry.Sources
	if entry.Former != "" {
		if sources, key.Digest, err = p.formerSources(ctx, entry); err != nil {
			return fmt.Errorf("the sources of module %s: %w", entry.Module.Digest, err)
		}
	}
	if err := p.pool.Add(key, sources); err != nil {
		return err
	}
	return f(key)
}

// formerSources returns the sources of a former version with the policies of the current one,
// and their digest.
func (p *Evaluator) formerSources(ctx context.Context, entry *catalog.Entry) ([]byte, string, error) {
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
