package cluster

import "context"

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
