package webhook

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/source"
)

// The limits of one Receiver.
const (
	maxRate = 1000 // requests in a second
	// maxInFlight limits the bodies of the requests that are processed at once, in bytes. They are in
	// memory.
	maxInFlight = 16 * source.MaxBody
	// minWeight is the number of bytes reserved for a small body, so that at most 256 requests are
	// processed at once.
	minWeight = maxInFlight / 256
	// maxWait is how long a request may wait for others.
	maxWait = 10 * time.Second
	// maxWaiting is the number of requests that wait.
	maxWaiting = 256
	// maxKnown is the number of Receivers whose limits and tokens are in memory.
	maxKnown = 4096
)

// limit is the limit of one Receiver.
type limit struct {
	rate    *rate.Limiter
	bodies  *semaphore.Weighted
	waiting chan struct{}
}

// limits have the limit of each Receiver.
type limits struct {
	mu sync.Mutex
	of *lru.Cache
}

func newLimits() *limits { return &limits{of: lru.New(maxKnown)} }

// get returns the limit of a Receiver.
func (l *limits) get(uid types.UID) *limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.of.Get(uid); ok {
		return known.(*limit)
	}
	fresh := &limit{rate.NewLimiter(maxRate, 2*maxRate), semaphore.NewWeighted(maxInFlight), make(chan struct{}, maxWaiting)}
	l.of.Add(uid, fresh)
	return fresh
}

// enter waits until a body may be read. size is its size, or negative if it is unknown. enter returns nil
// if too many requests wait, or if none has ended in time.
func (l *limit) enter(ctx context.Context, size int64) (leave func()) {
	select {
	case l.waiting <- struct{}{}:
		defer func() { <-l.waiting }()
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	weight := max(size, minWeight)
	if size < 0 {
		weight = source.MaxBody
	}
	if l.bodies.Acquire(ctx, weight) != nil {
		return nil
	}
	return func() { l.bodies.Release(weight) }
}
