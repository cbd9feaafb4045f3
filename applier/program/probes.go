package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// probeTimeout bounds what a probe asks; who probes should wait longer.
const probeTimeout = 3 * time.Second

// addProbes tells whether the process works, and whether it can do its work: it
// reaches the API server, and knows what is in the cluster.
func addProbes(m manager.Manager, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	reached := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		// Everybody who is authenticated may ask for it.
		if err := client.RESTClient().Get().AbsPath("/livez").Do(ctx).Error(); err != nil {
			return fmt.Errorf("API server: %w", err)
		}
		return nil
	}
	synced := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the watched kinds aren't listed yet")
		}
		return nil
	}
	return errors.Join(
		m.AddHealthzCheck("ping", healthz.Ping),
		m.AddReadyzCheck("api-server", reached),
		m.AddReadyzCheck("caches", synced),
	)
}
