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

// probeTimeout bounds the request of a probe. The timeout of the kubelet's probe
// should be longer.
const probeTimeout = 3 * time.Second

// addProbes adds a liveness check, and readiness checks for the connection to the
// API server, the resources in needs, and the manager's cache. An empty namespace
// means that the resources have to be listed in all namespaces.
func addProbes(m manager.Manager, config *rest.Config, namespace string, needs []schema.GroupVersionResource) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	// answered succeeds if the API server answers a request with a success code.
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
			return errors.New("the caches aren't synced yet")
		}
		return nil
	}
	errs := []error{
		m.AddHealthzCheck("ping", healthz.Ping),
		// Every authenticated client may get this path.
		m.AddReadyzCheck("api-server", answered(func() *rest.Request { return client.RESTClient().Get().AbsPath("/livez") })),
		m.AddReadyzCheck("caches", synced),
	}
	for _, need := range needs {
		errs = append(errs, m.AddReadyzCheck(need.Resource, answered(func() *rest.Request {
			// A list of one object's metadata is the smallest request that needs the
			// right to list the resource.
			path := []string{"/apis", need.Group, need.Version}
			if namespace != "" {
				path = append(path, "namespaces", namespace)
			}
			return client.RESTClient().Get().AbsPath(append(path, need.Resource)...).Param("limit", "1").
				SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		})))
	}
	return errors.Join(errs...)
}
