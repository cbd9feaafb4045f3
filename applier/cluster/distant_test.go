package cluster

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/inventory"
)

// distant returns a client of a server that answers with a handler.
func distant(t *testing.T, handler http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return distantAt(t, s.URL, s, &Room{}, "shop"), s
}

func distantAt(t *testing.T, url string, s *httptest.Server, room *Room, owner string) *Client {
	t.Helper()
	config := &rest.Config{Host: url}
	if s != nil {
		config.TLSClientConfig.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	c, err := NewDistant(config, "of Secret prod", room, owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func getPod(ctx context.Context, c *Client) error {
	_, err := c.Get(ctx, inventory.Key{Kind: "Pod", Namespace: "shop", Name: "web"}, "v1")
	return err
}

// While a cluster doesn't answer, one request after another waits for it, and the rest fail
// at once. The errors don't show where it is.
func TestDistantIsAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := distantAt(t, "https://"+silent.Addr().String(), nil, &Room{}, "shop")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := getPod(ctx, c); err == nil {
		t.Fatal("a silent cluster answered")
	}
	began := time.Now()
	for range 100 {
		err := getPod(t.Context(), c)
		if err == nil || !strings.HasSuffix(Classify(err).Message, "cluster of Secret prod can't be reached: it doesn't answer") {
			t.Fatalf("got %v", err)
		}
		if strings.Contains(Classify(err).Message, "127.0.0.1") {
			t.Fatalf("the error shows the address: %v", err)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("100 requests took %v", took)
	}
}

// A slow request isn't taken for a cluster that is away, while others are answered.
func TestDistantIsSlow(t *testing.T) {
	slow := make(chan struct{})
	c, _ := distant(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/web") {
			<-slow
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]}`))
	})
	defer close(slow)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- getPod(ctx, c) }()
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for ctx.Err() == nil {
		c.Kinds().Invalidate(pods.GroupVersion())
		if _, err := c.Kinds().Find(t.Context(), pods); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Fatal("the slow request was answered")
	}
	if _, err := c.Kinds().Find(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Other"}); err == nil || strings.Contains(err.Error(), "reached") {
		t.Errorf("got %v", err)
	}
}

// A hostile cluster neither sends requests elsewhere nor fills the memory.
func TestDistantIsHostile(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	c, _ := distant(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	if err := getPod(t.Context(), c); err == nil {
		t.Error("a redirect was taken for an answer")
	}
	c, _ = distant(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if err := getPod(t.Context(), c); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

// TestRoom has servers of one owner whose answers fill the memory that there is, and then neither end nor go on. The
// answers for another owner are read nevertheless.
func TestRoom(t *testing.T) {
	const pods = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]}`
	for name, text := range map[string]string{"bytes": strings.Repeat(" ", 1<<20), "values": strings.Repeat("{},", 1<<15)} {
		t.Run(name, func(t *testing.T) {
			room, end := &Room{}, make(chan struct{})
			defer close(end)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/api/v1" {
					_, _ = w.Write([]byte(pods)) // the client is there
					return
				}
				_, _ = w.Write([]byte(`{"a":[`))
				for sent := 0; sent < maxAnswer-1<<20 && name == "bytes" || sent < 5<<20; sent += len(text) {
					if _, err := w.Write([]byte(text)); err != nil {
						return
					}
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-end:
				}
			}))
			s.EnableHTTP2 = true
			s.StartTLS()
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 20)
			for range cap(ended) {
				c := distantAt(t, s.URL, s, room, "hostile")
				go func() { ended <- getPod(ctx, c) }()
			}
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), errNoRoom.Error()) {
					t.Fatalf("got %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("no answer is given up")
			}
			quiet, _ := distant(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path == "/api/v1" {
					_, _ = w.Write([]byte(pods))
					return
				}
				_, _ = fmt.Fprintf(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","annotations":{"x":%q}}}`, strings.Repeat("x", 8<<20))
			})
			quiet.http.Transport.(*gate).room = room
			for range 5 {
				if err := getPod(t.Context(), quiet); err != nil {
					t.Error(err)
				}
			}
			cancel()
			for range cap(ended) - 1 {
				<-ended
			}
			if room.held != 0 || len(room.answers) > 0 {
				t.Errorf("%d bytes are held, by %d answers", room.held, len(room.answers))
			}
		})
	}
}
