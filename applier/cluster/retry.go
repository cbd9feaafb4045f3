package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Retry tries something a few times while the API server says that it has
// trouble. A server that can't be reached isn't waited for.
func Retry(ctx context.Context, try func() error) error {
	pause := minPause
	for range 5 {
		err := try()
		if err == nil || !troubled(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause *= 2
	}
	return try()
}

func troubled(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsUnexpectedServerError(err)
}
