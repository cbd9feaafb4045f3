// Package faults stands between a program and an API server, and makes
// that path as bad as a test wants: it answers 409, 429 or 500 in the server's
// place, delays, hangs, cuts responses in the middle, and goes away
// altogether. It also keeps a record of the requests that passed.
//
// Start makes a Proxy, Config points a client at it, Inject says what goes
// wrong. Clients must authenticate by bearer token: a client certificate ends
// where TLS does, which is here.
//
// What goes wrong with which request follows from the seed, the rules, the
// request, and how often the same request was seen before; not from the order
// in which concurrent requests arrive. A failing test can so be run again.
package faults

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"
)

// Proxy is a reverse proxy in front of one API server.
type Proxy struct {
	address  string
	identity identity
	forward  *httputil.ReverseProxy
	upstream *http.Transport

	mu     sync.Mutex
	server *http.Server // nil while the proxy is down
	rules  *ruleBook
	record []Request
	seed   uint64
}

// Start starts a proxy in front of the API server that upstream reaches. Of
// upstream only the address and what is needed to trust the server are used.
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
	transport := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableCompression: true}
	p := &Proxy{
		address:  "127.0.0.1:0",
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
			// A server that can't be reached looks as if there were no proxy: the
			// connection breaks.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
	}
	return p, p.Up()
}

// Config is config with its requests sent through the proxy.
func (p *Proxy) Config(config *rest.Config) *rest.Config {
	through := rest.CopyConfig(config)
	through.Host = "https://" + p.address
	through.CAFile, through.CAData = "", p.identity.certificate
	return through
}

// Inject replaces the rules by these; without any, nothing goes wrong. The
// first rule that fires decides about a request.
func (p *Proxy) Inject(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = newRuleBook(p.seed, rules)
}

// Down closes the proxy's port and all connections: what connects is refused,
// as if the API server were gone. The record and the rules stay.
func (p *Proxy) Down() error {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server == nil {
		return nil
	}
	return server.Close()
}

// Up opens the proxy again, on the port that it had.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{
		Handler:   p,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{p.identity.pair}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	server := p.server
	go func() {
		// Serve returns when Down closes the server; there is nobody to tell why.
		_ = server.ServeTLS(listener, "", "")
	}()
	return nil
}

// Close ends the proxy and all requests in it.
func (p *Proxy) Close() error {
	err := p.Down()
	p.upstream.CloseIdleConnections()
	return err
}

// ServeHTTP lets a request pass, or the fault happen that it met.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := describe(r)
	p.mu.Lock()
	fault := p.rules.decide(request)
	if fault != nil {
		request.Fault = fmt.Sprintf("%T%+v", fault, fault)
	}
	p.record = append(p.record, request)
	p.mu.Unlock()
	if fault == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	fault.happen(w, r, p.forward)
}
