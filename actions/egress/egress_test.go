package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// client returns a client that may connect to entries.
func client(t *testing.T, o Options, entries ...string) *Client {
	t.Helper()
	var err error
	if o.Allowed, err = ParseAllowed(entries); err != nil {
		t.Fatal(err)
	}
	return New(o)
}

// TestAllowed checks which addresses may be requested.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ entries, url, want string }{
		{"", "https://example.com", "host example.com is not allowed"},
		{"example.com", "https://example.com/x", ""},
		{"example.com", "https://EXAMPLE.com.:8443/x", ""},
		{"example.com", "https://www.example.com", "is not allowed"},
		{"example.com", "https://example.com.evil.org", "is not allowed"},
		{"*.example.com", "https://www.example.com", ""},
		{"*.example.com", "https://example.com", "is not allowed"},
		{"*.example.com", "https://evilexample.com", "is not allowed"},
		{"*", "https://anything.org", ""},
		{"*", "http://anything.org", "not allowed without TLS"},
		{"http://anything.org", "http://anything.org", ""},
		{"*", "https://user:pass@anything.org", "without a user"},
		{"*", "file:///etc/passwd", "must begin with https://"},
		{"10.0.0.0/8", "https://10.1.2.3", ""},
		{"10.0.0.0/8", "https://11.1.2.3", "is not allowed"},
	} {
		var entries []string
		if test.entries != "" {
			entries = strings.Split(test.entries, ",")
		}
		a, err := ParseAllowed(entries)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.checkURL(u); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s to %s: %q, want %q", test.entries, test.url, got, test.want)
		}
	}
	for _, wrong := range []string{"", "https://example.com", "a b", "*.*", "example.com:443"} {
		if _, err := ParseAllowed([]string{wrong}); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

// TestAddresses checks which addresses are dialled.
func TestAddresses(t *testing.T) {
	t.Parallel()
	a, err := ParseAllowed([]string{"*", "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"10.2.2.3": false, "127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "169.254.169.254": false, "168.63.129.16": false,
		"192.168.1.1": false, "172.16.0.1": false, "100.64.0.1": false, "0.0.0.0": false, "fe80::1": false, "fd00::1": false,
		"224.0.0.1": false, "255.255.255.255": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false,
	} {
		if got := a.checkAddress(netip.MustParseAddr(address)) == ""; got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// rebinding answers the first question with one address, and later ones with another.
type rebinding struct {
	asked atomic.Int32
	all   []string
}

func (r *rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n := int(r.asked.Add(1)) - 1
	return []netip.Addr{netip.MustParseAddr(r.all[min(n, len(r.all)-1)])}, nil
}

// TestRebinding resolves a name to a public address first and to a local one later. Neither the
// second resolution nor a redirect leads to the local server.
func TestRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	r := &rebinding{all: []string{"192.0.2.1", "127.0.0.1"}} // nothing answers at 192.0.2.1
	c := client(t, Options{Resolver: r, Timeout: 300 * time.Millisecond}, "http://rebind.example.com")
	for range 3 {
		if response, err := c.Do(t.Context(), Request{Method: "GET", URL: "http://rebind.example.com:" + port}); err == nil {
			t.Errorf("answered: %d", response.Status)
		}
	}
	if reached.Load() > 0 {
		t.Error("the local server was reached")
	}
	var refused *Refused
	if _, err := c.Do(t.Context(), Request{Method: "GET", URL: "http://rebind.example.com:" + port}); !errors.As(err, &refused) {
		t.Errorf("a local address: %v", err)
	}
}

// TestDialsWhatWasChecked connects to the address that was checked, and doesn't look the name up
// again: the resolver of the system has another address for it.
func TestDialsWhatWasChecked(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	r := &rebinding{all: []string{"192.0.2.1", "192.0.2.1", "192.0.2.1"}} // nothing answers there
	c := client(t, Options{Resolver: r, Timeout: 300 * time.Millisecond}, "http://localhost")
	if response, err := c.Do(t.Context(), Request{Method: "GET", URL: "http://localhost:" + port}); err == nil {
		t.Errorf("answered: %d", response.Status)
	}
	if reached.Load() > 0 {
		t.Error("the local server was reached")
	}
}

// TestTagsHaveOwners keeps the responses of polls apart by their credentials: a server may use one
// ETag for what each client may see.
func TestTagsHaveOwners(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "of "+r.Header.Get("Authorization"))
	}))
	defer server.Close()
	c := client(t, Options{}, "127.0.0.0/8", "http://127.0.0.1")
	for _, who := range []string{"a", "b", "a", "b"} {
		response, err := c.Do(t.Context(), Request{Method: "GET", URL: server.URL, Header: http.Header{"Authorization": {who}}, Poll: true})
		if err != nil || string(response.Body) != "of "+who {
			t.Errorf("%s: %v, %v", who, response, err)
		}
	}
}

// TestForbidden refuses the API server although its network is allowed.
func TestForbidden(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	var known []netip.AddrPort
	failure := errors.New("no such host")
	forbidden := func(context.Context) ([]netip.AddrPort, error) { return known, failure }
	c := client(t, Options{Forbidden: forbidden}, "127.0.0.0/8", "http://127.0.0.1", "http://localhost")
	// While its addresses aren't known, nothing is dialled.
	_, err := c.Do(t.Context(), Request{Method: "GET", URL: server.URL})
	if unsent := (*Unsent)(nil); !errors.As(err, &unsent) {
		t.Errorf("without addresses: %v", err)
	}
	known, failure = []netip.AddrPort{address}, nil // it has moved
	for _, host := range []string{"127.0.0.1", "localhost"} {
		_, err := c.Do(t.Context(), Request{Method: "GET", URL: fmt.Sprintf("http://%s:%d", host, address.Port())})
		if err == nil || !strings.Contains(err.Error(), "API server") && !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestBounds checks redirects, endless and slow bodies, those that are compressed, and ETags.
func TestBounds(t *testing.T) {
	t.Parallel()
	var hits, full atomic.Int32
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/target", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/target", func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for range 1000 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, _ = pack.Write(make([]byte, 64<<10))
	_ = pack.Close()
	mux.HandleFunc("/packed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		<-release
	})
	mux.HandleFunc("/tag", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		_, _ = w.Write([]byte("tagged"))
	})
	server := httptest.NewServer(mux)
	c := client(t, Options{Timeout: time.Second}, "127.0.0.0/8", "http://127.0.0.1")
	get := func(path string, poll bool) (*Response, error) {
		return c.Do(t.Context(), Request{Method: "GET", URL: server.URL + path, Poll: poll})
	}
	if response, err := get("/elsewhere", false); err != nil || response.Status != http.StatusTemporaryRedirect || hits.Load() > 0 {
		t.Errorf("redirect: %v, %d hits", err, hits.Load())
	}
	if _, err := get("/endless", false); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("endless body: %v", err)
	}
	if response, err := get("/packed", false); err != nil || !bytes.Equal(response.Body, packed.Bytes()) {
		t.Errorf("compressed body: %v", err)
	}
	began := time.Now()
	if _, err := get("/slow", false); err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("slow body: %v after %s", err, time.Since(began))
	}
	for range 3 {
		if response, err := get("/tag", true); err != nil || string(response.Body) != "tagged" {
			t.Errorf("ETag: %v", err)
		}
	}
	if full.Load() != 1 {
		t.Errorf("%d full responses", full.Load())
	}
	close(release)
	server.Close()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	var unsent *Unsent
	if _, err := c.Do(t.Context(), Request{Method: "POST", URL: away.URL}); !errors.As(err, &unsent) {
		t.Errorf("a server that is away: %v", err)
	}
}
