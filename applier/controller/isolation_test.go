package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
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

// expensive returns graphs within all limits that cost as much as they can, and some
// beyond.
func expensive(b *env, n int) []*v1alpha1.ResourceGraph {
	data := func(count int, expr func(i int) string) string {
		keys := map[string]any{}
		for i := range count {
			keys[fmt.Sprintf("k%d", i)] = map[string]any{"$from": expr(i)}
		}
		raw, _ := json.Marshal(keys)
		return string(raw)
	}
	var graphs []*v1alpha1.ResourceGraph
	for g := range n {
		name := fmt.Sprintf("hostile%d", g)
		source, exprs := strings.Repeat("1,", 300), ""
		switch g % 6 {
		case 0: // evaluation
			exprs = data(500, func(i int) string {
				return fmt.Sprintf("cm.data.a.split(',').all(a, cm.data.a.split(',').all(b, a+b != '%d-%d')) ? 'x' : 'y'", g, i)
			})
		case 1: // compilation
			exprs = data(16, func(i int) string {
				return fmt.Sprintf("[%d,%d", g, i) + strings.Repeat(",cm.data.a=='b'?1:2", 160) + "].size() > 0 ? 'x' : 'y'"
			})
		case 2: // memory of results
			source = strings.Repeat("a", 250_000)
			exprs = data(400, func(i int) string { return fmt.Sprintf("cm.data.a.replace('a', cm.data.a) + '%d'", i) })
		case 3: // memory of values
			source = strings.Repeat("a", 200_000)
			exprs = data(900, func(i int) string { return fmt.Sprintf("cm.data.a + '%d-%d'", g, i) })
		case 4: // lists that double
			exprs = data(300, func(i int) string {
				return fmt.Sprintf("string([[%d]]", i) + strings.Repeat(".map(x,x+x)", 8) + "[0].size())"
			})
		case 5: // over the limits
			exprs = data(1500, func(i int) string { return fmt.Sprintf("cm.data.a + '%d'", i) })
		}
		graphs = append(graphs, b.rendered(name, nodes(configMap("cm", name+"-cm", source),
			`{id: x, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}, data: `+exprs+`}}`)))
	}
	return graphs
}

// Graphs of a namespace that use up time and memory leave enough for the graphs of
// others. With PEQUOD_SOAK, it measures how soon a hundred graphs are ready.
func TestExpensiveGraphsOfANamespace(t *testing.T) {
	noisy, quiet, _ := neighbors(t)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(410 << 20)) // as in config/applier
	for _, rg := range expensive(noisy, 20) {
		noisy.apply(rg)
	}
	tries := 5
	if os.Getenv("PEQUOD_SOAK") != "" {
		tries = 100
	}
	var took []time.Duration
	var peak uint64
	for i := range tries {
		name := fmt.Sprintf("web%d", i)
		began := time.Now()
		quiet.apply(quiet.rendered(name, nodes(configMap("a", name, "1"))))
		quiet.ready(name)
		took = append(took, time.Since(began))
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse+m.StackInuse)
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("of %d graphs beside 20 hostile ones, half are ready after %v and 99 %% after %v; at most %d MiB are in use",
		tries, took[len(took)/2], p99, peak>>20)
	if peak > 512<<20 {
		t.Errorf("%d MiB are in use", peak>>20)
	}
	if os.Getenv("PEQUOD_SOAK") != "" && p99 > 2*time.Second {
		t.Errorf("99 %% are ready after %v", p99)
	}
	for g, reason := range map[int]string{0: "OverBudget", 2: "ReferenceFailed", 3: "OverBudget", 5: "OverBudget"} {
		noisy.patience = 3 * time.Minute
		noisy.until(fmt.Sprintf("hostile%d", g), condition("Stalled", "True", reason, ""))
	}
}
