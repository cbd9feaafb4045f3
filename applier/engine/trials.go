package engine

import (
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// failing is a node whose writes fail although they may succeed.
type failing struct {
	last  *Failure
	since time.Time
}

// wroteInVain records that a write of a node failed.
func (d *Damper) wroteInVain(key inventory.Key, f *Failure, now time.Time) {
	switch {
	case d == nil:
	case f.Terminal:
		d.failed(key, f)
		delete(d.failing, key)
	default:
		before, ok := d.failing[key]
		if !ok {
			before.since = now
		}
		if d.failing == nil {
			d.failing = map[inventory.Key]failing{}
		}
		d.failing[key] = failing{f, before.since}
	}
}

// writeSucceeded records that a write of a node succeeded, and reports whether one had
// failed before. Then the other nodes that failed alike may be tried, too.
func (d *Damper) writeSucceeded(key inventory.Key) bool {
	recovered := d.recovered(key)
	if d == nil || d.failing[key].last == nil {
		return recovered
	}
	clear(d.failing)
	return true
}

// trial returns the last failure of a node whose writes keep failing, and when the next
// trial is. The failure is nil if the node may be tried now; that takes the trial.
func (d *Damper) trial(key inventory.Key, now time.Time) (*Failure, time.Time) {
	if d == nil || d.failing[key].last == nil {
		return nil, time.Time{}
	}
	lasts := now.Sub(d.failing[key].since)
	if lasts < trialTime {
		return nil, time.Time{}
	}
	if now.Before(d.nextTrial) {
		return d.failing[key].last, d.nextTrial
	}
	d.nextTrial = now.Add(min(lasts/20, maxTrialPause))
	return nil, time.Time{}
}
