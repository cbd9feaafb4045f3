package applier_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// many returns the nodes of a graph of n objects of a kind of Kubernetes' core group.
func many(n int, kind string) string {
	var b strings.Builder
	b.WriteString("nodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {id: n%[1]d, resource: {apiVersion: v1, kind: %[2]s, metadata: {name: n%[1]d}}}\n", i, kind)
	}
	return b.String()
}

// The names in a namespace of more objects than a page show which objects of a new graph exist:
// they aren't read one by one.
func TestApplyInFullNamespace(t *testing.T) {
	t.Parallel()
	const objects = 60
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	b := envOn(t, c, proxy.Config(c.Config))
	var g errgroup.Group
	g.SetLimit(16)
	for i := range 520 {
		g.Go(func() error {
			other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%d", i)}}
			_, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), other, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	b.complete(b.graph("g", many(objects, "ConfigMap")))
	reads := proxy.Count(func(r faults.Request) bool { return r.Verb == "get" && r.Resource == "configmaps" })
	if reads > 4 {
		t.Errorf("%d reads of single objects", reads)
	}
}

// Objects that can only be read one by one are read at the same time.
func TestReadsAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	proxy.Inject(faults.Rule{Verbs: []string{"list"}, Resources: []string{"serviceaccounts"}, Faults: []faults.Fault{faults.Status{Code: http.StatusForbidden}}})
	config := rest.CopyConfig(proxy.Config(c.Config))
	both := &meeting{met: make(chan struct{})}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/serviceaccounts/n") {
				both.arrive()
			}
			return next.RoundTrip(r)
		})
	})
	b := envOn(t, c, config)
	b.complete(b.graph("g", many(20, "ServiceAccount")))
	select {
	case <-both.met:
	default:
		t.Error("the objects were read one after the other")
	}
}

// meeting delays each request until two are in flight at once.
type meeting struct {
	mu      sync.Mutex
	waiting int
	once    sync.Once
	met     chan struct{}
}

func (m *meeting) arrive() {
	m.mu.Lock()
	m.waiting++
	if m.waiting == 2 {
		m.once.Do(func() { close(m.met) })
	}
	m.mu.Unlock()
	select {
	case <-m.met:
	case <-time.After(time.Second):
		m.mu.Lock()
		m.waiting--
		m.mu.Unlock()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
