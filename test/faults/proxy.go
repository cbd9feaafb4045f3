// Package faults is a reverse proxy between a client and an API server that makes
// the connection as bad as a test wants: it answers 409, 429 or 500 instead of
// the server, delays requests, hangs, cuts responses, and goes down. It also
// records the requests that it received.
//
// [Start] starts a [Proxy], [Proxy.Config] points a client at it, and
// [Proxy.Inject] adds faults. Clients must authenticate with a bearer token: a
// client certificate does not pass a proxy that terminates TLS. For example, a
// third of all patches of Deployments get no answer although the server executes
// them:
//
//	p.Inject(faults.Rule{
//		Verbs:     []string{"apply"},
//		Resources: []string{"deployments.apps"},
//		Rate:      0.33,
//		Faults:    []faults.Fault{faults.Cut{}},
//	})
//
// Which request meets which fault depends on the seed, the rules, the request and
// the number of equal requests before it. It does not depend on the order in
// which concurrent requests arrive, so a failing test can be repeated. Skip and
// Times of a rule are the exception: they count requests in the order of their
// arrival.
//
// proxy.go forwards, record.go parses and records requests, rule.go decides,
// fault.go has the faults, identity.go the certificate of the proxy, and port.go
// keeps its port.
package faults

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is a reverse proxy in front of one API server. It is safe for concurrent
// use.
type Proxy struct {
	address  string   // with the port
	port     *os.File // reserves the port until Close
	identity identity
	forward  *httputil.ReverseProxy
	// upstream is the transport of forward. It outlives Down.
	upstream *http.Transport

	// mu guards the fields below it. It is not held while a request is forwarded
	// or a fault happens.
	mu       sync.Mutex
	server   *http.Server // nil while the proxy is down
	listener net.Listener // of server
	rules    *ruleBook
	record   []Request
	seed     uint64
}

// Start starts a proxy in front of the API server that upstream reaches. It uses
// only the address of upstream and its settings for trusting the server.
func Start(upstream *rest.Config, seed uint64) (*Proxy, error) {
	target, err := url.Parse(upstream.Host)
	if err != nil || target.Scheme != "https" {
		return nil, fmt.Errorf("fault proxy: %q is no https URL", upstream.Host)
	}
	trust, err := rest.TLSConfigFor(rest.AnonymousClientConfig(upstream))
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	identity, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	port, address, err := Reserve()
	if err != nil {
		return nil, fmt.Errorf("fault proxy: reserving a port: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableCompression: true}
	p := &Proxy{
		address:  address,
		port:     port,
		identity: identity,
		upstream: transport,
		seed:     seed,
		rules:    newRuleBook(seed, nil),
		forward: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = target.Host
			},
			Transport:     transport,
			FlushInterval: -1, // a watch event is passed on at once
			ErrorLog:      log.New(io.Discard, "", 0),
			// If the server cannot be reached, the connection breaks, as it would
			// without a proxy.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}
	if err := p.Up(); err != nil {
		_ = port.Close()
		return nil, err
	}
	return p, nil
}

// Config returns a copy of config that sends its requests through the proxy. The
// proxy's certificate replaces the authority; the credentials stay.
func (p *Proxy) Config(config *rest.Config) *rest.Config {
	through := rest.CopyConfig(config)
	through.Host = "https://" + p.address
	through.CAFile, through.CAData = "", p.identity.certificate
	return through
}

// Inject replaces all rules. The first rule that fires decides on a request;
// without rules every request passes. Counters of the rules begin at 0 again.
func (p *Proxy) Inject(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = newRuleBook(p.seed, rules)
}

// Down closes the port and all connections of the proxy, as if the API server
// were gone. No other process gets the port. The record and the rules are kept.
func (p *Proxy) Down() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	err := p.server.Close()
	_ = p.listener.Close() // the server doesn't have it yet if it was just started
	p.server = nil
	return err
}

// Up opens the proxy again on the same port, so that clients can continue. If it
// is open, Up does nothing.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	// A connection of another process may have the port for a while.
	listener, err := net.Listen("tcp", p.address)
	for end := time.Now().Add(time.Minute); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		listener, err = net.Listen("tcp", p.address)
	}
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	p.server = &http.Server{
		Handler:   p,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{p.identity.pair}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	p.listener = listener
	server := p.server
	go func() {
		// ServeTLS returns when Down closes the server. Its error has no
		// receiver.
		_ = server.ServeTLS(listener, "", "")
	}()
	return nil
}

// Close stops the proxy and aborts all requests that are in flight.
func (p *Proxy) Close() error {
	err := p.Down()
	p.upstream.CloseIdleConnections()
	_ = p.port.Close() // a second Close is no error
	return err
}

// ServeHTTP records a request and forwards it, or injects a fault.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := describe(r)
	p.mu.Lock()
	fault := p.rules.decide(request)
	if fault != nil {
		request.Fault = fmt.Sprintf("%T%+v", fault, fault)
	}
	p.record = append(p.record, request)
	p.mu.Unlock()
	// The reverse proxy would now and then lose the end of an answer to a request whose body the server
	// hasn't read, as when it refuses one.
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	if fault == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	fault.happen(w, r, p.forward)
}
