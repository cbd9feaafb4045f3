package egress

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// The budget of polls of one server with one token: one poll in each interval, after a burst.
const (
	pollInterval = 500 * time.Millisecond
	pollBurst    = 20
	// maxTurns is how many requests may wait for their turn.
	maxTurns = 4096
)

// Busy is the error of a poll that was not sent, because the program polls the server too
// often. The same request may be sent at At.
type Busy struct{ At time.Time }

// Error implements error.
func (b *Busy) Error() string { return "the server is polled too often by other Actions" }

// budget limits the polls of one server with one token. It doesn't block: a request that comes
// too early gets the time of its turn, which is reserved for it, so requests keep their order.
type budget struct {
	mu sync.Mutex
	// last is the time of the last turn that was given away. It is in the past while the
	// budget isn't spent.
	last time.Time
	// turns are the times of requests that came too early.
	turns *lru.Cache
}

// take returns the time at which a request may be sent, or the zero time if that is now.
func (b *budget) take(request string, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if value, ok := b.turns.Get(request); ok {
		if at := value.(time.Time); now.Before(at) {
			return at
		}
		b.turns.Remove(request)
		return time.Time{}
	}
	if unspent := now.Add(-pollBurst * pollInterval); b.last.Before(unspent) {
		b.last = unspent
	}
	b.last = b.last.Add(pollInterval)
	if !b.last.After(now) {
		return time.Time{}
	}
	b.turns.Add(request, b.last)
	return b.last
}

// budget returns the budget of a server and a token.
func (c *Client) budget(of string) *budget {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := sum(of)
	if b, ok := c.budgets.Get(key); ok {
		return b.(*budget)
	}
	b := &budget{turns: lru.New(maxTurns)}
	c.budgets.Add(key, b)
	return b
}
