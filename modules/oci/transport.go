package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pequod-io/pequod/internal/httpwait"
	"github.com/pequod-io/pequod/internal/jsonlimit"
)

const (
	// maxManifest limits every answer but blobs: manifests, lists of tags, errors. The
	// specification of OCI asks registries to accept manifests of 4 MiB. See also [limitsOf].
	maxManifest = 4 << 20
	// maxRedirects limits the redirects of a request.
	maxRedirects = 10
	// stallTimeout ends a request that transfers no byte for that long.
	stallTimeout = 30 * time.Second
	// LeastRate is the number of bytes that have to pass in a second, on average over twice the time
	// after which a request that transfers nothing is ended.
	LeastRate = 1 << 10
)

// newTransport returns the transport of a client, from the network upwards: [guard]
// refuses, [stall] ends requests that hang, [retry] repeats failed ones.
func newTransport(o Options) (http.RoundTripper, error) {
	base := o.Transport
	if base == nil {
		var err error
		if base, err = Transport(o.CAFile); err != nil {
			return nil, err
		}
	}
	stalled := &stall{inner: &guard{inner: noPages{base}, plainHTTP: o.PlainHTTP}, timeout: o.timing.stall}
	return &retry{inner: stalled, wait: o.timing.wait}, nil
}

// Repeating returns a transport that sends requests through base as those of a [Client] are
// sent: it repeats those that fail for a passing reason, and ends those that transfer no
// byte for the time of patience, or less than [LeastRate]. [GivenUp] explains its errors.
func Repeating(base http.RoundTripper, patience time.Duration) http.RoundTripper {
	return &retry{inner: &stall{inner: noPages{base}, timeout: patience}, wait: httpwait.Wait}
}

// Transport returns the transport that sends the requests of a client without
// Options.Transport. caFile is as in [Options].
func Transport(caFile string) (http.RoundTripper, error) {
	if caFile == "" {
		return remote.DefaultTransport.(*http.Transport).Clone(), nil
	}
	data, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	t, err := Trusting(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caFile, err)
	}
	return t, nil
}

// Trusting returns a transport that trusts the authorities with certificates in PEM format
// in addition to those of the system.
func Trusting(certificates []byte) (http.RoundTripper, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the platform has no certificates
	}
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, errors.New("no certificate in PEM format")
	}
	t := remote.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// noPages refuses successful answers that are HTML. A proxy or a server that wants a login may
// answer so, and parsers would only say that they expected something else.
type noPages struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (n noPages) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/html" {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing of it is read
	return nil, errPage
}

// guard refuses requests over plain HTTP to other machines, and endless redirects,
// and limits the size of answers. The library beneath tries plain HTTP for private
// addresses and puts no limit on redirects.
type guard struct {
	inner     http.RoundTripper
	plainHTTP bool
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	first, redirects := req, 0
	for ; first.Response != nil && first.Response.Request != nil; first = first.Response.Request {
		redirects++
	}
	if redirects > maxRedirects {
		return nil, errRedirects
	}
	if req.URL.Scheme != "https" && (first.URL.Scheme == "https" || !g.plainHTTP && !loopback(req.URL.Host)) {
		return nil, errPlainHTTP
	}
	resp, err := g.inner.RoundTrip(req)
	if err == nil && !isBlob(first) {
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxManifest, values: jsonlimit.NewCounter(limitsOf(first.URL))}
	}
	return resp, err
}

// blobKey is the key of contexts in which a blob is read.
type blobKey struct{}

// isBlob reports whether the answer to a request is a blob. The sizes of blobs are known beforehand,
// and their readers enforce them. The path is not enough: registries choose those of further pages
// of lists, and those of tokens, whose requests have a query.
func isBlob(r *http.Request) bool {
	return r.Context().Value(blobKey{}) != nil && strings.Contains(r.URL.Path, "/blobs/") && r.URL.RawQuery == ""
}

// limitsOf returns the limits of the answer to a request. The library decodes it, and the three bytes
// of {}, become a descriptor of some hundred bytes. Names in lists stay small.
func limitsOf(u *url.URL) jsonlimit.Limits {
	if strings.HasSuffix(u.Path, "/tags/list") || strings.HasSuffix(u.Path, "/_catalog") {
		return jsonlimit.Document
	}
	return jsonlimit.Message
}

// limitedBody fails if more than left bytes are read, or more values.
type limitedBody struct {
	io.ReadCloser
	left   int64
	values *jsonlimit.Counter
}

func (b *limitedBody) Read(p []byte) (int, error) {
	const what = "the answer of the registry"
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &tooLargeError{what: what, limit: maxManifest}
	}
	if _, many := b.values.Write(p[:n]); many != nil {
		return 0, fmt.Errorf("%s: %w", what, many)
	}
	return n, err
}

// stall ends requests that transfer no byte in either direction for timeout, or too few.
type stall struct {
	inner   http.RoundTripper
	timeout time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *stall) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{cancel: cancel, timeout: s.timeout}
	w.timer = time.AfterFunc(s.timeout, func() { w.end(ErrStalled) })
	w.pace = time.AfterFunc(2*s.timeout, w.measure)
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &watchedBody{ReadCloser: req.Body, watch: w}
	}
	resp, err := s.inner.RoundTrip(req)
	if err != nil {
		w.stop()
		return nil, w.explain(err)
	}
	w.timer.Reset(s.timeout)
	w.pace.Reset(2 * s.timeout)
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: w, last: true}
	return resp, nil
}

// watch has the timers of one request.
type watch struct {
	cancel  context.CancelCauseFunc // of the context of the request
	timer   *time.Timer
	pace    *time.Timer // calls measure
	timeout time.Duration
	passed  atomic.Int64          // bytes since the last measure
	ended   atomic.Pointer[error] // why a timer has ended the request
}

func (w *watch) stop() {
	w.timer.Stop()
	w.pace.Stop()
	w.cancel(context.Canceled)
}

// end ends the request.
func (w *watch) end(why error) {
	w.ended.CompareAndSwap(nil, &why)
	w.cancel(why)
}

// measure ends the request if too few bytes have passed since the last call.
func (w *watch) measure() {
	window := 2 * w.timeout
	switch passed := w.passed.Swap(0); {
	case passed == 0: // the other timer is late, on a busy machine
		w.end(ErrStalled)
		return
	case passed < int64(window.Seconds()*LeastRate):
		w.end(ErrSlow)
		return
	}
	w.pace.Reset(window)
}

// explain returns why a timer has ended the request, or err.
func (w *watch) explain(err error) error {
	if why := w.ended.Load(); why != nil {
		return *why
	}
	return err
}

// watchedBody resets the timer whenever bytes pass. Closing the last body of a request
// ends it.
type watchedBody struct {
	io.ReadCloser
	watch *watch
	last  bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.timer.Reset(b.watch.timeout)
		b.watch.passed.Add(int64(n))
	}
	if err != nil && err != io.EOF {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.last {
		b.watch.stop()
	}
	return err
}
