package engine

import (
	"fmt"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// Damper limits how often the object of a node is written while the graph stays
// the same: because others change or delete it, or because a value changes that
// its references read. Each node may be written maxWrites times at once, and then
// once per writeInterval, so that two writers that react to each other cost a few
// requests per hour. A Damper outlives engines: its owner replaces it when the
// graph changes. It is not safe for concurrent use. A nil Damper limits nothing.
type Damper struct{ nodes map[inventory.Key]bucket }

// bucket is a token bucket.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was right
}

const (
	maxWrites     = 10
	writeInterval = 6 * time.Minute
)

// NewDamper returns the damper of a graph that was not executed yet.
func NewDamper() *Damper { return &Damper{nodes: map[inventory.Key]bucket{}} }

// tokens returns the number of writes that a node has left.
func (d *Damper) tokens(key inventory.Key, now time.Time) float64 {
	b, ok := d.nodes[key]
	if !ok {
		return maxWrites
	}
	return min(b.tokens+float64(now.Sub(b.at))/float64(writeInterval), maxWrites)
}

// next returns when a node may be written, zero if it may be now.
func (d *Damper) next(key inventory.Key, now time.Time) time.Time {
	if d == nil {
		return time.Time{}
	}
	tokens := d.tokens(key, now)
	if tokens >= 1 {
		return time.Time{}
	}
	// Rounding must not make the node wait for a time that has passed.
	return now.Add(time.Duration((1-tokens)*float64(writeInterval)) + time.Millisecond)
}

// wrote records that a write changed the object of a node.
func (d *Damper) wrote(key inventory.Key, now time.Time) {
	if d != nil {
		d.nodes[key] = bucket{tokens: d.tokens(key, now) - 1, at: now}
	}
}

// damped makes a node wait if it was written too often, and reports whether it did.
func (e *Engine) damped(n *node) bool {
	next := e.opts.Damper.next(n.key, e.step.now)
	if next.IsZero() {
		return false
	}
	n.wait(fmt.Sprintf("was written %d times although the graph didn't change; the next write is at %s", maxWrites, next.Format(time.TimeOnly)))
	e.wakeAt(next)
	return true
}
