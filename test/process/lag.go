package process

import (
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
)

// lagging returns a configuration with which a program sees what happens in the cluster late, by
// the duration in the environment variable PEQUOD_LAG. Without that it is as. So a busy machine
// with stale caches is simulated: a program must not announce what its own cache doesn't show.
func lagging(t *testing.T, as *rest.Config) *rest.Config {
	t.Helper()
	setting := os.Getenv("PEQUOD_LAG")
	if setting == "" {
		return as
	}
	lag, err := time.ParseDuration(setting)
	if err != nil {
		t.Fatalf("PEQUOD_LAG: %v", err)
	}
	proxy, err := faults.Start(as, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	proxy.Inject(faults.Rule{Verbs: []string{"watch"}, Faults: []faults.Fault{faults.Lag{For: lag}}})
	return proxy.Config(as)
}
