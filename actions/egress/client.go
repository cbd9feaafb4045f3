package egress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// Limits of one request.
const (
	maxTime   = 30 * time.Second
	maxBody   = 1 << 20
	maxHeader = 64 << 10
	// maxKept is the size of a response that is kept for its ETag.
	maxKept = 64 << 10
)

// Resolver finds the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure a client.
type Options struct {
	Allowed Allowed
	// Forbidden returns the addresses of the API server, which may change at any time. nil
	// means that it has none.
	Forbidden func(context.Context) ([]netip.AddrPort, error)
	// Resolver is the system's if it is nil.
	Resolver Resolver
	// Timeout limits a request; 0 means 30 seconds.
	Timeout time.Duration
	// UserAgent is sent with each request.
	UserAgent string
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	options Options
	// transports are by the certificates of the authorities and the name of the server.
	transports *lru.Cache
	budgets    *lru.Cache
	tagged     *lru.Cache
	mu         sync.Mutex // makes one transport and one budget for each key
}

// New returns a client.
func New(o Options) *Client {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Timeout == 0 {
		o.Timeout = maxTime
	}
	return &Client{options: o, transports: lru.New(64), budgets: lru.New(1024), tagged: lru.New(1024)}
}

// Request is one request.
type Request struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// CABundle has the certificates of the authorities as PEM; empty means the system's.
	CABundle string
	// ServerName is the name in the server's certificate; empty means the host of the URL.
	ServerName string
	// Poll spends the budget of the server, and uses its ETags.
	Poll bool
}

// Response is the response to a request. Its body is complete.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Refused is the error of a request that must not be repeated: it was not sent because of where
// it goes or, if Sent is set, its response is too large.
type Refused struct {
	Why  string
	Sent bool
}

// Error implements error.
func (r *Refused) Error() string { return r.Why }

// Unsent is the error of a request that has not reached the server.
type Unsent struct{ Err error }

// Error implements error.
func (u *Unsent) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unsent) Unwrap() error { return u.Err }

// Do sends a request and reads the response. The error is a *[Refused] if the
// request must not be repeated, a *[Busy] if it is a poll that comes too early, and an
// *[Unsent] if it has not reached the server; after all other errors it may have.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, &Refused{Why: "the address is not valid"} // the error quotes it
	}
	if why := c.options.Allowed.checkURL(u); why != "" {
		return nil, &Refused{Why: why}
	}
	transport, err := c.transport(r.CABundle, r.ServerName)
	if err != nil {
		return nil, &Refused{Why: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	var key string
	var kept *tagged
	if r.Poll {
		key = sum(r.Method, r.URL, fmt.Sprint(r.Header))
		if at := c.budget(u.Host+"\n"+r.Header.Get("Authorization")).take(key, time.Now()); !at.IsZero() {
			return nil, &Busy{at}
		}
		if value, ok := c.tagged.Get(key); ok {
			kept = value.(*tagged)
		}
	}
	sent := false
	response, err := c.send(ctx, r, u, transport, kept, &sent)
	if err != nil {
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			return nil, refused
		case !sent:
			return nil, &Unsent{clean(err)}
		}
		return nil, clean(err)
	}
	if kept != nil && response.Status == http.StatusNotModified {
		return kept.response, nil
	}
	if tag := response.Header.Get("ETag"); r.Poll && tag != "" && response.Status == http.StatusOK && len(response.Body) <= maxKept {
		c.tagged.Add(key, &tagged{tag, response})
	}
	return response, nil
}

// tagged is a response with its ETag.
type tagged struct {
	tag      string
	response *Response
}

// send sends a request and reads the response. It sets sent as soon as a connection is there.
func (c *Client) send(ctx context.Context, r Request, u *url.URL, transport http.RoundTripper, kept *tagged, sent *bool) (*Response, error) {
	var connected atomic.Bool
	defer func() { *sent = connected.Load() }()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, &Refused{Why: "the request is not valid"}
	}
	if r.Header != nil {
		request.Header = r.Header.Clone()
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	if kept != nil {
		request.Header.Set("If-None-Match", kept.tag)
	}
	// The standard library repeats idempotent requests by itself, which the server counts.
	request.GetBody = nil
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, &Refused{Why: fmt.Sprintf("the response is larger than %d bytes", maxBody), Sent: true}
	}
	if err := jsonlimit.Check(body, jsonlimit.Message); err != nil {
		return nil, &Refused{Why: "the response is too large: " + err.Error(), Sent: true}
	}
	return &Response{answer.StatusCode, answer.Header, body}, nil
}

// clean drops the address of an error, which may have a query that is secret.
func clean(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// transport returns the transport for certificates of authorities and a server's name.
func (c *Client) transport(bundle, name string) (http.RoundTripper, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := name + "\n" + bundle
	if t, ok := c.transports.Get(key); ok {
		return t.(http.RoundTripper), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if bundle != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(bundle)) {
			return nil, errors.New("caBundle has no certificate")
		}
	}
	t := &http.Transport{
		DialContext: c.dial, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: c.options.Timeout, MaxResponseHeaderBytes: maxHeader,
		// A compressed body could be thousand times larger than what is received.
		DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
	c.transports.Add(key, t)
	return t, nil
}

// Connect opens a connection for another protocol than HTTP to HOST:PORT. plain is set if the
// connection will have no TLS. The error is a *[Refused] if the host isn't allowed.
func (c *Client) Connect(ctx context.Context, address string, plain bool) (net.Conn, error) {
	to := &url.URL{Scheme: "https", Host: address}
	if plain {
		to.Scheme = "http"
	}
	if why := c.options.Allowed.checkURL(to); why != "" {
		return nil, &Refused{Why: why}
	}
	return c.dial(ctx, "tcp", address)
}

// dial connects to an address of a host that is allowed.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var forbidden []netip.AddrPort
	if c.options.Forbidden != nil {
		if forbidden, err = c.options.Forbidden(ctx); err != nil {
			return nil, fmt.Errorf("addresses of the API server: %w", err)
		}
	}
	ips, err := c.options.Resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, err
	}
	err = &Refused{Why: fmt.Sprintf("host %s has no address", name)}
	for _, ip := range ips {
		ip = ip.Unmap()
		to := net.JoinHostPort(ip.String(), port)
		why := c.options.Allowed.checkAddress(ip)
		for _, f := range forbidden {
			if to == f.String() {
				why = "the address is that of the API server"
			}
		}
		if why != "" {
			err = &Refused{Why: fmt.Sprintf("host %s: %s", name, why)}
			continue
		}
		var d net.Dialer
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, to); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// sum returns a digest, so that keys of caches have no tokens.
func sum(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return string(h.Sum(nil))
}
