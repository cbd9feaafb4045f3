package controller_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// anybody lets every account of the namespace do anything there.
func (b *env) anybody() {
	b.Apply(b.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: anybody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pequod}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:%s"}]
`, b.Namespace))
}

// heap is what is in use once everything that can go has gone.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLoad executes PEQUOD_LOAD graphs at once, and logs the time, the requests
// and the memory that this takes.
func TestLoad(t *testing.T) {
	graphs, err := strconv.Atoi(os.Getenv("PEQUOD_LOAD"))
	if err != nil {
		graphs = 25
	}
	b := idle(t, harness.Start(t))
	b.patience = 10 * time.Minute
	proxy := b.Proxy(t, 1)
	config := b.applierConfig()
	b.start(proxy.Config(config))
	b.apply(b.rendered("first", webService))
	b.ready("first")
	b.quiet(proxy)
	proxy.Reset()
	empty, began := heap(), time.Now()
	work := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range work {
				name := fmt.Sprintf("g%d", i)
				b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "1"), configMap("b", name+"-b", "1", "a"), configMap("c", name+"-c", "1"), configMap("d", name+"-d", "1"))))
			}
		})
	}
	for i := range graphs {
		work <- i
	}
	close(work)
	wg.Wait()
	created := time.Since(began)
	for i := range graphs {
		b.ready(fmt.Sprintf("g%d", i))
	}
	took := time.Since(began)
	count := proxy.Count(mine)
	b.quiet(proxy)
	proxy.Reset()
	full := heap()
	t.Logf("%d graphs of 4 objects: created in %v, ready after %v, %.1f requests each, %d bytes of heap per object",
		graphs, created, took, float64(count)/float64(graphs), (int64(full)-int64(empty))/int64(4*graphs))
	if most := 9 * graphs; count > most {
		t.Errorf("%d requests for %d graphs of 4 objects", count, graphs)
	}
	b.stop()
	proxy.Reset()
	began = time.Now()
	b.start(proxy.Config(config))
	b.patch("v1", "ConfigMap", "g0-a", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "g0-a") == "1" })
	b.quiet(proxy)
	t.Logf("restarted: %v, %d requests", time.Since(began), proxy.Count(mine))
}

// TestNoGrowth creates and deletes graphs and their service accounts repeatedly, and
// checks that memory and goroutines do not grow. PEQUOD_SOAK is the number of times;
// each time creates five graphs.
func TestNoGrowth(t *testing.T) {
	b := idle(t, harness.Start(t))
	b.start(b.Config)
	b.anybody()
	rounds := 15
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		rounds = max(rounds, n)
	}
	const graphs = 5
	accounts := b.Client.CoreV1().ServiceAccounts(b.Namespace)
	made := 0
	round := func() {
		var names []string
		for range graphs {
			made++
			name := fmt.Sprintf("g%d", made)
			names = append(names, name)
			if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			b.apply(b.rendered(name, nodes(configMap("a", name+"-a", "1"),
				`{id: s, resource: {apiVersion: v1, kind: Secret, metadata: {name: `+name+`}}}`,
				`{id: x, externalRef: {apiVersion: v1, kind: ServiceAccount, name: pequod}}`),
				func(s *v1alpha1.ResourceGraphSpec) { s.ServiceAccountName = name }))
		}
		for _, name := range names {
			b.ready(name)
			b.remove(name)
		}
		for _, name := range names {
			b.gone(name)
			if err := accounts.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		round()
	}
	// What it takes when nothing is there: its own connections and loops.
	var goroutines int
	b.eventually("calm", func(ctx) bool {
		last := goroutines
		goroutines = runtime.NumGoroutine()
		time.Sleep(300 * time.Millisecond)
		return last == goroutines
	})
	before := heap()
	for range rounds {
		round()
	}
	b.eventually("the goroutines end", func(ctx) bool { return runtime.NumGoroutine() <= goroutines+5 })
	grown := int64(heap()) - int64(before)
	t.Logf("%d graphs came and went: %d bytes more, %d goroutines at first, %d now", graphs*rounds, grown, goroutines, runtime.NumGoroutine())
	// The heap isn't the same twice; what is kept of a graph shows by its number.
	if grown > 64<<10+graphs*int64(rounds)*500 {
		t.Errorf("%d graphs left %d bytes", graphs*rounds, grown)
	}
}
