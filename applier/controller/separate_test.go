package controller_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// aggregate returns access to a server in front of two control planes: objects of the
// API group are those of the second one, as if an aggregated API server with an etcd of
// its own served them. While down is set, the group can't be reached, and while unlisted
// is set, the applier itself can't list or watch its objects.
func aggregate(t *testing.T, first, second *rest.Config, group string, down, unlisted *atomic.Bool) *rest.Config {
	t.Helper()
	forward := func(config *rest.Config, transport *rest.Config) *httputil.ReverseProxy {
		target, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		through, err := rest.TransportFor(transport)
		if err != nil {
			t.Fatal(err)
		}
		return &httputil.ReverseProxy{Transport: through, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if transport.BearerToken != "" {
				r.Out.Header.Del("Authorization")
			}
		}}
	}
	toFirst, toSecond := forward(first, rest.AnonymousClientConfig(first)), forward(second, second)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/apis/"+group+"/"):
			toFirst.ServeHTTP(w, r)
		case down.Load(), unlisted.Load() && r.URL.Path == "/apis/"+group+"/v1/boxes" && r.Header.Get("Impersonate-User") == "":
			http.Error(w, "down", http.StatusServiceUnavailable)
		default:
			for name := range r.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Header.Del(name) // the account exists in the first one only
				}
			}
			toSecond.ServeHTTP(w, r)
		}
	}))
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	config := rest.CopyConfig(first)
	config.Host, config.CAFile = front.URL, ""
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	return config
}

// The etcd of some objects is restored from a backup, and that of the graphs isn't. The
// list of graphs shows nothing then: only the lists of the objects do.
func TestSeparateEtcdIsRestored(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		advance string // when the versions grow: "before" the changes, or "after" the restore
		unseen  bool   // no watch is open from the backup to the restore
	}{
		{"to earlier versions", "before", false},
		{"to earlier versions than no watch saw", "before", true},
		{"and its versions grow", "after", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, objects := idle(t, harness.Start(t)), idle(t, harness.StartOwn(t))
			group := b.Unique("separate") + ".example.com"
			b.define(group, boxes)
			objects.define(group, boxes)
			var down, unlisted atomic.Bool
			b.start(aggregate(t, b.Config, objects.Config, group, &down, &unlisted))
			box := func(name string, size int) string {
				return fmt.Sprintf(`{id: box, resource: {apiVersion: %s/v1, kind: Box, metadata: {name: %s}, spec: {size: %d}}}`, group, name, size)
			}
			b.apply(b.rendered("changed", nodes(box("changed", 1))))
			b.ready("changed")
			unlisted.Store(test.unseen)
			backup := objects.Backup(t)
			if test.advance == "before" {
				objects.advance()
			}
			b.apply(b.rendered("changed", nodes(box("changed", 2))))
			b.apply(b.rendered("created", nodes(box("created", 2))))
			b.ready("changed")
			b.ready("created")
			objects.Restore(t, backup, func() { down.Store(true) })
			if test.advance == "after" {
				objects.advance()
			}
			down.Store(false)
			unlisted.Store(false)
			harness.Eventually(t, b.patience, func(ctx context.Context) error {
				r, err := objects.Resource(group+"/v1", "Box", "")
				if err != nil {
					return err
				}
				for _, name := range []string{"changed", "created"} {
					live, err := r.Get(ctx, name, metav1.GetOptions{})
					if err != nil {
						return err
					}
					if size, _, _ := unstructured.NestedInt64(live.Object, "spec", "size"); size != 2 {
						return fmt.Errorf("box %s has size %d; want 2", name, size)
					}
				}
				return nil
			})
			b.ready("changed")
			b.ready("created")
		})
	}
}
