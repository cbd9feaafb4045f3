package program

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// answerTimeout is how long to wait for the beginning of an answer. API servers end requests
// after a minute, so one that takes longer is lost.
const answerTimeout = 70 * time.Second

// stallTimeout is how long to wait for more of an answer that has begun. Proxies before an API server
// can lose the end of one: that of Go's net/http does so with HTTP/2, now and then, if the API server
// refuses a request without reading its body.
const stallTimeout = 20 * time.Second

// limitAnswers makes clients give up requests whose answer doesn't begin or go on in time. Otherwise a
// request that is lost would keep its worker forever. Only watches may be silent for any
// time. The field ResponseHeaderTimeout of http.Transport would do a part of that,
// but client-go makes the transports, and shares them between clients.
func limitAnswers(config *rest.Config, begin, stall time.Duration) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next, begin, stall} })
}

// answers is a transport that limits the time until an answer begins, and that between two parts of it.
type answers struct {
	next         http.RoundTripper
	begin, stall time.Duration
}

// WrappedRoundTripper implements the interface of k8s.io/apimachinery/pkg/util/net, which
// closes idle connections by it.
func (a answers) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	late := fmt.Errorf("no answer from the API server within %s: %w", a.begin, context.DeadlineExceeded)
	timer := time.AfterFunc(a.begin, func() { cancel(late) })
	response, err := a.next.RoundTrip(request.WithContext(ctx))
	timer.Stop()
	if cause := context.Cause(ctx); err != nil && cause == late {
		err = late
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	b := &body{ReadCloser: response.Body, ctx: ctx, cancel: cancel}
	if watches, _ := strconv.ParseBool(request.URL.Query().Get("watch")); !watches {
		b.stall = a.stall
	}
	response.Body = b
	return response, nil
}

// body is the body of an answer, whose request ends when it is closed.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration // the limit of one Read; 0 means none
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.stall == 0 {
		return b.ReadCloser.Read(p)
	}
	late := fmt.Errorf("nothing more of an answer from the API server within %s: %w", b.stall, context.DeadlineExceeded)
	timer := time.AfterFunc(b.stall, func() { b.cancel(late) })
	n, err := b.ReadCloser.Read(p)
	timer.Stop()
	if err != nil && context.Cause(b.ctx) == late {
		err = late
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
