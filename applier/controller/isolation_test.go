package controller_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
)

// neighbors returns two environments of one applier, which a proxy separates from
// the cluster. The applier executes the graphs of all namespaces, so the test must
// not be parallel.
func neighbors(t *testing.T) (noisy, quiet *env, proxy *faults.Proxy) {
	t.Helper()
	noisy, quiet = idle(t, harness.Start(t)), idle(t, harness.Start(t))
	proxy = noisy.Proxy(t, 1)
	noisy.options.Namespace = ""
	noisy.start(proxy.Config(noisy.Config))
	return noisy, quiet, proxy
}

// Requests of a namespace that are never answered leave room for the graphs of
// others. Without it, a graph waits until they time out, which takes 30 seconds.
func TestHangingRequestsOfANamespace(t *testing.T) {
	noisy, quiet, proxy := neighbors(t)
	proxy.Inject(faults.Rule{
		Verbs: []string{"apply"}, Resources: []string{"configmaps"}, Namespaces: []string{noisy.Namespace}, Faults: []faults.Fault{faults.Hang{}},
	})
	for g := range 4 {
		var many []string
		for i := range 40 {
			many = append(many, configMap(fmt.Sprintf("n%d", i), fmt.Sprintf("g%d-%d", g, i), "1"))
		}
		noisy.apply(noisy.rendered(fmt.Sprintf("g%d", g), nodes(many...)))
	}
	noisy.eventually("requests hang", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Namespace == noisy.Namespace && r.Verb == "apply" }) >= 20
	})
	quiet.patience = 20 * time.Second
	for i := range 5 {
		name := fmt.Sprintf("web%d", i)
		began := time.Now()
		quiet.apply(quiet.rendered(name, nodes(configMap("a", name, "1"))))
		quiet.ready(name)
		t.Logf("ready after %v", time.Since(began))
	}
}

// Graphs of a namespace that use up time and memory leave enough for the graphs of
// others, and their status says which limit they exceed. TestHostileTenant of
// cmd/pequod-applier measures the same with the program.
func TestExpensiveGraphsOfANamespace(t *testing.T) {
	noisy, quiet, _ := neighbors(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(410 << 20)) // as in config/applier
	for _, sort := range []hostile.Sort{
		hostile.Evaluation, hostile.Compilation, hostile.Readiness, hostile.Results, hostile.Values, hostile.Lists, hostile.TooMany,
	} {
		for i := range 3 {
			noisy.apply(hostile.Graph(noisy.Namespace, sort, i))
		}
	}
	var peak uint64
	for i := range 5 {
		name := fmt.Sprintf("web%d", i)
		began := time.Now()
		quiet.apply(quiet.rendered(name, nodes(configMap("a", name, "1"))))
		quiet.ready(name)
		t.Logf("ready after %v", time.Since(began))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse+m.StackInuse)
	}
	if peak > 512<<20 {
		t.Errorf("%d MiB are in use", peak>>20)
	}
	noisy.patience = 3 * time.Minute
	for name, reason := range map[string]string{
		"evaluation-0": "OverBudget", "results-0": "ReferenceFailed", "values-0": "OverBudget", "too-many-0": "OverBudget",
	} {
		noisy.until(name, condition("Stalled", "True", reason, ""))
	}
	noisy.ready("lists-0")
}
