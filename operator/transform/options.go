package transform

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/catalog"
)

// Options configure [Setup]. Catalog, Fetcher, Loader and Namespace are required.
type Options struct {
	// Catalog gets the platforms that are ready.
	Catalog *catalog.Catalog
	Fetcher Fetcher
	Loader  Loader
	// Namespace is the namespace of the manager. Service accounts of Transforms are in it.
	Namespace string
	// Namespaces are the namespaces whose Transforms are reconciled, "*" for all. Empty means
	// the manager's.
	Namespaces []string
	// RenderOnly leaves the execution of the graphs to pequod-applier, which acts as an account of
	// their namespace: accounts and roles of Transforms are neither made nor deleted.
	RenderOnly bool
	// Policies identifies the references to the policies of the organization that Fetcher adds.
	// Versions that were kept with others are not used if the current one can't be.
	Policies string
	// Concurrent is the number of Transforms that are reconciled at once, by default 4.
	Concurrent int
	// Backoff is the time before the first repetition of a failed fetch, by default 5 s. It
	// is doubled with every failure, up to the interval of the Transform.
	Backoff time.Duration
	// Settle is the time after which all API servers store objects in a new version of a CRD,
	// by default 10 s.
	Settle time.Duration
	// Listing tells whether the instances of a platform in Catalog are listed, as
	// [catalog.Catalog.Listing] does. If the func is nil, nobody lists them.
	Listing func(transform types.NamespacedName) catalog.Listing
	// Metrics receives what is to be counted; nil means that nothing is.
	Metrics Recorder
	// Conversion returns the conversion of CRDs whose modules define conversions, or nil as long
	// as it is not known. If the func is nil, the CRDs have none, and API servers convert by
	// changing apiVersion alone.
	Conversion func(ctx context.Context) (*apiextensionsv1.CustomResourceConversion, error)
	// Converting gets the platforms whose CRDs are about to be applied with a conversion. It is
	// needed with Conversion.
	Converting *catalog.Catalog
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
}
