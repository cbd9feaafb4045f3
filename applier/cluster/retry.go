package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// minPause is the first pause between two attempts.
const minPause = 200 * time.Millisecond

// retries is how often [Retry] and [RetryIf] repeat a request.
const retries = 5

// Retry is [RetryIf] for requests that the API server may answer with errors of its
// own, such as 429 or 500. All other errors are returned at once, among them network
// errors. The first pause is about minPause.
func Retry(ctx context.Context, send func() error) error {
	return RetryIf(ctx, minPause, func(err error) (time.Duration, bool) { return 0, isServerError(err) }, send)
}

// RetryIf calls send until it succeeds, at most six times, while transient returns true
// for its error, together with the least time to wait. The backoff begins at about pause
// and doubles. If ctx is done during the backoff, its cause is returned.
func RetryIf(ctx context.Context, pause time.Duration, transient func(error) (time.Duration, bool), send func() error) error {
	for range retries {
		err := send()
		if err == nil {
			return nil
		}
		least, again := transient(err)
		if !again {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(pause/2+rand.N(pause), least)):
		}
		pause *= 2
	}
	return send()
}

// isServerError reports whether the API server is overloaded or broken, rather
// than the request wrong.
func isServerError(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsUnexpectedServerError(err)
}

// searchAttempts is how often a search sends a request that gets no answer.
const searchAttempts = 4

// retrySearch repeats a request of a search. A search has many requests, and would
// hardly ever end on a bad network if each broken connection ended it.
func retrySearch[T any](ctx context.Context, send func() (T, error)) (answer T, err error) {
	for range searchAttempts {
		err = Retry(ctx, func() (err error) {
			answer, err = send()
			return err
		})
		if err == nil || ctx.Err() != nil || ConcernsKind(err) {
			break
		}
	}
	return answer, err
}
