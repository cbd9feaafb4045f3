package faults_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/faults"
)

// backend is a server behind a proxy, and a client before it.
type backend struct {
	proxy  *faults.Proxy
	config *rest.Config
	client *http.Client
	served atomic.Int32
}

// body is longer than what HTTP buffers.
var body = strings.Repeat("0123456789abcdef", 4096)

func start(t *testing.T, http2 bool, handler http.HandlerFunc) *backend {
	t.Helper()
	b := &backend{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.served.Add(1)
		handler(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	proxy, err := faults.Start(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	b.proxy = proxy
	b.config = proxy.Config(&rest.Config{BearerToken: "secret", UserAgent: "tester"})
	trust, err := rest.TLSConfigFor(b.config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: http2}
	if !http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport, Timeout: 10 * time.Second}
	return b
}

// get asks for a Pod, and returns the code and the body of the answer.
func (b *backend) get(ctx context.Context) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.config.Host+"/api/v1/namespaces/ns/pods/web", nil)
	if err != nil {
		return 0, "", err
	}
	response, err := b.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

func TestFaults(t *testing.T) {
	long := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
	short := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "0123456789") }
	tests := []struct {
		name    string
		fault   faults.Fault
		handler http.HandlerFunc
		code    int
		body    string // begins with
		broken  bool
		served  int32
		atLeast time.Duration
	}{
		{name: "none", handler: long, code: 200, body: body, served: 1},
		{name: "conflict", fault: faults.Status{Code: 409}, handler: long, code: 409,
			body: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server reported a conflict`},
		{name: "too many requests", fault: faults.Status{Code: 429, RetryAfter: time.Second}, handler: long, code: 429,
			body: `{"kind":"Status"`},
		{name: "internal error", fault: faults.Status{Code: 500}, handler: long, code: 500, body: `{"kind":"Status"`},
		{name: "delay", fault: faults.Delay{For: 50 * time.Millisecond}, handler: long, code: 200, body: body, served: 1, atLeast: 50 * time.Millisecond},
		{name: "lag", fault: faults.Lag{For: 50 * time.Millisecond}, handler: long, code: 200, body: body, served: 1, atLeast: 50 * time.Millisecond},
		{name: "timeout", fault: faults.Timeout{After: 50 * time.Millisecond}, handler: long, code: 504, body: `{"kind":"Status"`, atLeast: 50 * time.Millisecond},
		{name: "drop", fault: faults.Drop{}, handler: long, broken: true},
		{name: "cut", fault: faults.Cut{After: 1000}, handler: long, code: 200, body: body[:1000], broken: true, served: 1},
		{name: "cut at once", fault: faults.Cut{}, handler: long, broken: true, served: 1},
		{name: "cut what is short", fault: faults.Cut{After: 1000}, handler: short, code: 200, body: "01234", broken: true, served: 1},
	}
	for _, http2 := range []bool{true, false} {
		for _, test := range tests {
			t.Run(fmt.Sprintf("%s http2=%v", test.name, http2), func(t *testing.T) {
				t.Parallel()
				b := start(t, http2, test.handler)
				if test.fault != nil {
					b.proxy.Inject(faults.Rule{Verbs: []string{"create"}, Resources: []string{"pods"}, Faults: []faults.Fault{test.fault}})
				}
				begin := time.Now()
				// The HTTP client sends a GET again by itself when the connection breaks,
				// but not a POST.
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.config.Host+"/api/v1/namespaces/ns/pods", nil)
				if err != nil {
					t.Fatal(err)
				}
				code, data, err := do(b.client, r)
				if code != test.code || (err != nil) != test.broken {
					t.Fatalf("code %d, error %v; want code %d, an error: %v", code, err, test.code, test.broken)
				}
				if !strings.HasPrefix(data, test.body) || test.broken && data != test.body {
					t.Errorf("body of %d bytes %.80q, want %d bytes %.80q", len(data), data, len(test.body), test.body)
				}
				if got := b.served.Load(); got != test.served {
					t.Errorf("the server saw %d requests, want %d", got, test.served)
				}
				if took := time.Since(begin); took < test.atLeast {
					t.Errorf("took %s", took)
				}
				want := 0
				if test.fault != nil {
					want = 1
				}
				if got := b.proxy.Faults()[fmt.Sprintf("%T%+v", test.fault, test.fault)]; got != want {
					t.Errorf("faults recorded: %v", b.proxy.Faults())
				}
			})
		}
	}
}

func do(client *http.Client, r *http.Request) (int, string, error) {
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

func TestHangEndsWithItsClient(t *testing.T) {
	b := start(t, true, func(http.ResponseWriter, *http.Request) {})
	b.proxy.Inject(faults.Rule{Faults: []faults.Fault{faults.Hang{}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := b.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// A watch is passed on as it comes, and ends when the proxy goes down; nothing
// is reachable then, and all of it again at the same address afterwards.
func TestDownAndUp(t *testing.T) {
	b := start(t, true, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			return
		}
		io.WriteString(w, "event\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	response, err := b.client.Get(b.config.Host + "/api/v1/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	event := make([]byte, 6)
	if _, err := io.ReadFull(response.Body, event); err != nil || string(event) != "event\n" {
		t.Fatalf("%q, %v", event, err)
	}
	if err := b.proxy.Down(); err != nil {
		t.Fatal(err)
	}
	if _, err := response.Body.Read(event); err == nil {
		t.Error("the watch goes on")
	}
	if _, _, err := b.get(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while down: %v", err)
	}
	if err := b.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	if code, _, err := b.get(t.Context()); code != 200 || err != nil {
		t.Errorf("after that: %d, %v", code, err)
	}
}

// No connection of another program gets the port while the proxy is down: it couldn't be opened
// again.
func TestDownKeepsPort(t *testing.T) {
	b := start(t, true, func(http.ResponseWriter, *http.Request) {})
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := b.proxy.Down(); err != nil {
		t.Fatal(err)
	}
	local, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(b.config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: local}
	if connection, err := dialer.DialContext(t.Context(), "tcp", other.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		if err == nil {
			connection.Close()
		}
		t.Errorf("a connection from the port of the proxy: %v", err)
	}
	if err := b.proxy.Up(); err != nil {
		t.Error(err)
	}
}

func TestRecord(t *testing.T) {
	b := start(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	send := func(method, path, contentType string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, b.config.Host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", "tester")
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Content-Type", contentType)
		if code, _, err := do(b.client, r); err != nil || code != 200 {
			t.Fatalf("%s %s: %d, %v", method, path, code, err)
		}
	}
	send("GET", "/apis/apps/v1", "")
	send("GET", "/openapi/v3", "")
	send("GET", "/api/v1/pods?watch=true", "")
	send("GET", "/api/v1/namespaces/ns/pods", "")
	send("PATCH", "/apis/apps/v1/namespaces/ns/deployments/web", "application/apply-patch+yaml")
	send("PATCH", "/apis/apps/v1/namespaces/ns/deployments/web?dryRun=All", "application/apply-patch+yaml")
	send("PATCH", "/apis/apps/v1/namespaces/ns/deployments/web/status", "application/merge-patch+json")
	send("DELETE", "/api/v1/namespaces/ns/pods", "")

	want := map[faults.Key]int{
		{Verb: "get", Resource: "/apis/apps/v1", UserAgent: "tester"}:             1,
		{Verb: "get", Resource: "/openapi/v3", UserAgent: "tester"}:               1,
		{Verb: "watch", Resource: "pods", UserAgent: "tester"}:                    1,
		{Verb: "list", Resource: "pods", UserAgent: "tester"}:                     1,
		{Verb: "apply", Resource: "deployments.apps", UserAgent: "tester"}:        2,
		{Verb: "patch", Resource: "deployments.apps/status", UserAgent: "tester"}: 1,
		{Verb: "deletecollection", Resource: "pods", UserAgent: "tester"}:         1,
	}
	if diff := cmp.Diff(want, b.proxy.Counts()); diff != "" {
		t.Error(diff)
	}
	if got := b.proxy.Count(faults.Request.Discovery); got != 2 {
		t.Errorf("%d requests for discovery, want 2", got)
	}
	if got := b.proxy.Count(faults.Request.Write); got != 3 {
		t.Errorf("%d writes, want 3: a dry run is none", got)
	}
	b.proxy.Reset()
	if got := b.proxy.Requests(); len(got) != 0 {
		t.Errorf("after Reset: %v", got)
	}
}
