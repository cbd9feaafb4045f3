package program

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// answerTimeout is how long to wait for the beginning of an answer. API servers end requests
// after a minute, so one that takes longer is lost.
const answerTimeout = 70 * time.Second

// limitAnswers makes clients give up requests whose answer doesn't begin in time. Otherwise a
// request that is lost would keep its worker forever. The rest of an answer may take any time:
// that of a watch takes minutes. The field ResponseHeaderTimeout of http.Transport would do the
// same, but client-go makes the transports, and shares them between clients.
func limitAnswers(config *rest.Config, timeout time.Duration) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers{next, timeout} })
}

// answers is a transport that limits the time until an answer begins.
type answers struct {
	next    http.RoundTripper
	timeout time.Duration
}

// WrappedRoundTripper implements the interface of k8s.io/apimachinery/pkg/util/net, which
// closes idle connections by it.
func (a answers) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	late := fmt.Errorf("no answer from the API server within %s: %w", a.timeout, context.DeadlineExceeded)
	timer := time.AfterFunc(a.timeout, func() { cancel(late) })
	response, err := a.next.RoundTrip(request.WithContext(ctx))
	timer.Stop()
	if cause := context.Cause(ctx); err != nil && cause == late {
		err = late
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	response.Body = &body{response.Body, cancel}
	return response, nil
}

// body is the body of an answer, whose request ends when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements [io.Closer].
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
