package program

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// probeTimeout bounds what a probe asks; who probes should wait longer.
const probeTimeout = 3 * time.Second

// addProbes tells whether the process works, and whether it can do its work: the
// API server answers, what the program needs is there, and what is watched is
// known.
func addProbes(m manager.Manager, config *rest.Config, needs []schema.GroupVersionResource) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	// answered sends a request for its answer's code.
	answered := func(request func() *rest.Request) healthz.Checker {
		return func(r *http.Request) error {
			ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
			defer cancel()
			return request().Do(ctx).Error()
		}
	}
	synced := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("what is watched isn't listed yet")
		}
		return nil
	}
	errs := []error{
		m.AddHealthzCheck("ping", healthz.Ping),
		// Everybody who is authenticated may ask for it.
		m.AddReadyzCheck("api-server", answered(func() *rest.Request { return client.RESTClient().Get().AbsPath("/livez") })),
		m.AddReadyzCheck("caches", synced),
	}
	for _, need := range needs {
		errs = append(errs, m.AddReadyzCheck(need.Resource, answered(func() *rest.Request {
			// The least that says whether it may be listed: the metadata of one.
			return client.RESTClient().Get().AbsPath("/apis", need.Group, need.Version, need.Resource).Param("limit", "1").
				SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		})))
	}
	return errors.Join(errs...)
}
