package source

import (
	"context"
	"time"

	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// Options configure the controller. Catalog, Renderer, Store and URL are required.
type Options struct {
	// Catalog lists the platforms, and Renderer renders their instances.
	Catalog  *catalog.Catalog
	Renderer Renderer
	// Store keeps the archives, which every replica of the manager serves.
	Store artifact.Store
	// URL is the address of the server of the archives, such as
	// http://pequod-artifacts.pequod-system.svc.cluster.local.
	URL string
	// Transforms reports whether Transforms of a namespace are used.
	Transforms func(namespace string) bool
	// NoCrossNamespace refuses sources of other namespaces than that of the InstanceSource.
	NoCrossNamespace bool
	// Concurrent is the number of InstanceSources that are handled at once; 0 means 2.
	Concurrent int
	// Backoff is the time before the first repetition after a failure, by default 5 s. It is
	// doubled with every failure, up to the interval of the InstanceSource.
	Backoff time.Duration
	// Patience is the time after the start in which Transforms become ready again, by default a
	// minute. A Transform that isn't ready is no failure until then.
	Patience time.Duration
	// Metrics receives what is to be counted; nil means that nothing is.
	Metrics Recorder
}

// Renderer renders instances in files, in worker processes.
type Renderer interface {
	// RenderDocument renders an instance by the platform of an entry. namespace is that of an
	// instance without one. Problems have positions in the file. An error that is a
	// [problem.List] means that the platform is wrong; any other error may pass.
	RenderDocument(ctx context.Context, entry *catalog.Entry, doc worker.Document, namespace string) (*worker.Rendered, error)
}

// Recorder counts reconciliations. Its methods may be called concurrently.
type Recorder interface {
	// Reconciled records a reconciliation: "success", or "error" if a request failed.
	Reconciled(result string, took time.Duration)
	// ReconcileFailed records why a reconciliation failed.
	ReconcileFailed(reason string)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{}

func (noMetrics) Reconciled(string, time.Duration) {}
func (noMetrics) ReconcileFailed(string)           {}
