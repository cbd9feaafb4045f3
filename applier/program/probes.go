package program

import (
	"context"
	"errors"
	"net/http"
	"path"
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
	// ask sends a request for its answer's code.
	ask := func(at string, parameters ...string) healthz.Checker {
		return func(r *http.Request) error {
			ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
			defer cancel()
			request := client.RESTClient().Get().AbsPath(at)
			for i := 0; i < len(parameters); i += 2 {
				request.Param(parameters[i], parameters[i+1])
			}
			return request.Do(ctx).Error()
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
		m.AddReadyzCheck("api-server", ask("/livez")),
		m.AddReadyzCheck("caches", synced),
	}
	for _, need := range needs {
		// Any version will do, so that the answer comes from the API server's cache.
		list := ask(path.Join("/apis", need.Group, need.Version, need.Resource), "limit", "1", "resourceVersion", "0")
		errs = append(errs, m.AddReadyzCheck(need.Resource, list))
	}
	return errors.Join(errs...)
}
