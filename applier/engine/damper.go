package engine

import (
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// Damper limits how often the object of a node is written while the graph stays
// the same: because others change or delete it, or because a value changes that
// its references read. Each node may be written maxWrites times at once, and then
// once per writeInterval, so that two writers that react to each other cost a few
// requests per hour. A Damper outlives engines: its owner replaces it when the
// graph changes. It is not safe for concurrent use. A nil Damper limits nothing.
//
// It also remembers the objects whose reads, writes and deletions failed for good. The engines
// together try only a few of them again, in turn: a graph with thousands of nodes without
// rights would otherwise send thousands of requests whenever it is tried again. For trialTime
// these are maxRetries, and then one. The pause between two tries is a 20th of the time since
// the first failure, and at most writeInterval. If one of them succeeds, the others are tried,
// too.
//
// The first write of a node isn't counted: the graph is its cause, and so the creation
// of an object needs no memory.
//
// And it counts how often a node took its object from another graph that adopts it,
// too, for the messages of both.
//
// Writes and deletions that keep failing although they may succeed, for example because
// a webhook doesn't answer, are retried as [Backoff] says for trialTime. From then on the
// objects share trials, which they take in turn, at intervals of a 20th of the time since
// their first failure and of maxTrialPause at most. When one of them succeeds, all are
// retried.
type Damper struct {
	nodes    map[inventory.Key]bucket
	contests map[inventory.Key]contest

	failures  map[inventory.Key]*failed // for good
	nextRetry time.Time                 // of the objects in failures
	failing   map[inventory.Key]*failed // and may succeed
	nextTrial time.Time                 // of the objects in failing
	turns     int                       // how often an object was chosen to be tried again

	// The slice of evaluations that the last engine began, and its cost.
	sliceBegan time.Time
	sliceCost  uint64
}

// bucket is a token bucket.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was right
}

const (
	maxWrites     = 10
	writeInterval = 10 * time.Minute

	trialTime     = 5 * time.Minute
	maxTrialPause = 5 * time.Minute

	// maxRetries is how many objects that failed for good are tried again at once, until
	// trialTime after the failure, and minRetryPause is the shortest pause between such tries.
	maxRetries    = 3
	minRetryPause = 500 * time.Millisecond
)

// NewDamper returns the damper of a graph that was not executed yet.
func NewDamper() *Damper { return &Damper{} }

// Unused reports whether a new Damper would limit nothing less.
func (d *Damper) Unused() bool {
	return d == nil || len(d.nodes)+len(d.failures)+len(d.contests)+len(d.failing) == 0 && d.sliceCost == 0
}

// left returns the number of tokens that are left.
func (b bucket) left(now time.Time) float64 {
	return min(b.tokens+float64(now.Sub(b.at))/float64(writeInterval), maxWrites)
}

// tokens returns the number of writes that a node has left.
func (d *Damper) tokens(key inventory.Key, now time.Time) float64 {
	b, ok := d.nodes[key]
	if !ok {
		return maxWrites
	}
	return b.left(now)
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

// wrote records that a write changed the object of a node. It isn't called for the
// first write of a node.
func (d *Damper) wrote(key inventory.Key, now time.Time) {
	if d != nil {
		if d.nodes == nil {
			d.nodes = map[inventory.Key]bucket{}
		}
		d.nodes[key] = bucket{tokens: d.tokens(key, now) - 1, at: now}
	}
}

// nearly reports whether a node has one write left, or none.
func (d *Damper) nearly(key inventory.Key, now time.Time) bool {
	return d != nil && d.tokens(key, now) < 2
}
