package oci

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/pequod-io/pequod/internal/httpwait"
)

const (
	// attempts is how often a request is sent at most.
	attempts = 4
	// firstDelay is the delay before the first repetition. Each further delay is
	// three times as long.
	firstDelay = 500 * time.Millisecond
	// maxDelay limits the delay that a registry may demand. A registry that demands
	// more is reported, so that no pipeline waits for hours.
	maxDelay = time.Minute
)

// retry repeats requests that failed for a reason that passes: a broken connection, a
// full or restarting server. It waits for as long as the registry demands with
// Retry-After, which the library's own repetitions ignore.
type retry struct {
	inner http.RoundTripper
	// wait waits, or returns the error of ctx if that ends first.
	wait func(ctx context.Context, d time.Duration) error
}

// RoundTrip implements http.RoundTripper.
func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		resp, err := r.inner.RoundTrip(req)
		if err != nil && !passing(err) || err == nil && !passingStatus(resp.StatusCode) {
			return resp, err
		}
		delay := backoff(n)
		var demanded time.Duration
		if err == nil {
			demanded, _ = httpwait.Demanded(resp.Header, time.Now())
			delay = max(delay, demanded)
		}
		again, ok := repeatable(req)
		deadline, bounded := req.Context().Deadline()
		if n == attempts || !ok || delay > maxDelay || bounded && time.Until(deadline) < delay {
			return failed(resp, err, demanded)
		}
		if resp != nil {
			// Reading a short body makes the connection usable for the next attempt.
			_, _ = io.CopyN(io.Discard, resp.Body, 4096)
			_ = resp.Body.Close()
		}
		if err := r.wait(req.Context(), delay); err != nil {
			return nil, err
		}
		req = again
	}
}

// Repeat calls f again while it fails for a passing reason, such as a transfer that broke
// off, as often as a request is sent. It does not repeat what a transport has repeated.
func Repeat(ctx context.Context, f func() error) error { return repeat(ctx, httpwait.Wait, f) }

// repeat implements Repeat.
func repeat(ctx context.Context, wait func(context.Context, time.Duration) error, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		if err == nil || !passing(err) || n == attempts || ctx.Err() != nil {
			return err
		}
		if err := wait(ctx, backoff(n)); err != nil {
			return err
		}
	}
}

// failed returns the result of the last attempt. The demand of a registry that limits
// requests is kept in an error, because the library drops the headers of answers.
func failed(resp *http.Response, err error, demanded time.Duration) (*http.Response, error) {
	if err != nil {
		return nil, &repeatedError{err}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		limited := &limitedError{after: demanded}
		var answer *transport.Error
		if errors.As(transport.CheckError(resp), &answer) {
			limited.words = wordsOf(answer)
		}
		_ = resp.Body.Close()
		return nil, limited
	}
	return resp, nil
}

// repeatedError is an error that was already repeated often enough.
type repeatedError struct{ error }

func (e *repeatedError) Unwrap() error { return e.error }

// repeatable returns a request to send instead of req, or false if its body is spent.
func repeatable(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, true
}

// passing reports whether an error of the connection may not occur again.
func passing(err error) bool {
	var repeated *repeatedError
	if errors.As(err, &repeated) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, ErrStalled} {
		if errors.Is(err, broken) {
			return true
		}
	}
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// passingStatus reports whether the status of an answer may be another one later.
func passingStatus(status int) bool {
	return slices.Contains([]int{
		http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, status)
}

// backoff returns the delay after the given attempt. Up to a tenth of it is random, so
// that clients that failed together don't return together.
func backoff(attempt int) time.Duration {
	d := firstDelay
	for range attempt - 1 {
		d *= 3
	}
	return d + rand.N(d/10)
}
