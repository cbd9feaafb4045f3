package program

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// TestEndsWithoutCaches ends a manager whose caches are not filled, because the API server
// doesn't answer.
func TestEndsWithoutCaches(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	proxy.Inject(faults.Rule{Verbs: []string{"list", "watch"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Hang{}}})
	m, err := manager.New(proxy.Config(c.Config), manager.Options{
		Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{c.Namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Start(ctx, m) }()
	select {
	case err := <-ended:
		t.Fatalf("ended early: %v", err)
	case <-time.After(time.Second):
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("has not ended")
	}
}
