package source

import (
	"time"

	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/instance"
)

// Options configure the controller. Catalog, Evaluator, Store and URL are required.
type Options struct {
	// Catalog lists the platforms, and Evaluator renders their instances.
	Catalog   *catalog.Catalog
	Evaluator *instance.Evaluator
	// Store keeps the archives, which every replica of the manager serves.
	Store *artifact.Store
	// URL is the address of the server of the archives, such as
	// http://pequod-artifacts.pequod-system.svc.cluster.local.
	URL string
	// Transforms reports whether Transforms of a namespace are used.
	Transforms func(namespace string) bool
	// NoCrossNamespace refuses sources outside of the namespace of the InstanceSource.
	NoCrossNamespace bool
	// Concurrent is the number of InstanceSources that are reconciled at once; 0 means 2.
	Concurrent int
	// Backoff is the time before the first retry after a failure; 0 means 5 s. It doubles with
	// every failure, up to the interval of the InstanceSource.
	Backoff time.Duration
	// Patience is the time that Transforms have to become ready after the start; 0 means a minute.
	// A Transform that isn't ready is no failure until then.
	Patience time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Metrics receives what is to be counted; nil means that nothing is.
	Metrics reconciling.Recorder
}
