package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// minPause is the first pause between two attempts.
const minPause = 200 * time.Millisecond

// retries is how often [Retry] repeats a request.
const retries = 5

// Retry calls send until it succeeds, at most six times, while the API server
// returns errors that are its own, such as 429 or 500. The backoff begins at about
// minPause and doubles. Other errors are returned at once, among them network
// errors. If ctx is done during the backoff, its cause is returned.
func Retry(ctx context.Context, send func() error) error {
	pause := minPause
	for range retries {
		err := send()
		if err == nil || !isServerError(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
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
