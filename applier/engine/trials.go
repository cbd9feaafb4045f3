package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// failed is an object whose last request failed.
type failed struct {
	last  *Failure
	since time.Time
	// read is set if the request was a Read. Its success then proves nothing about writes.
	read bool
	// chosen is set if the object may be tried again, until it is.
	chosen bool
	// turn is when the object was chosen the last time, 0 for never. See [Damper].turns.
	turn int
}

// record replaces the last failure of an object in one of the maps, which may be nil.
func record(all *map[inventory.Key]*failed, key inventory.Key, f *Failure, read bool, now time.Time) {
	if *all == nil {
		*all = map[inventory.Key]*failed{}
	}
	before := (*all)[key]
	if before == nil {
		before = &failed{since: now}
		(*all)[key] = before
	}
	before.last, before.read, before.chosen = f, read, false
}

// choose chooses the objects to try again that were chosen the longest time ago. An object
// that isn't tried then, for example because it is blocked, has had its turn, so that it
// doesn't keep others from theirs.
func (d *Damper) choose(from map[inventory.Key]*failed, most int) {
	keys := slices.SortedFunc(maps.Keys(from), func(a, b inventory.Key) int {
		return cmp.Or(cmp.Compare(from[a].turn, from[b].turn), a.Compare(b))
	})
	for _, key := range keys[:min(most, len(keys))] {
		d.turns++
		from[key].turn, from[key].chosen = d.turns, true
	}
}

// readInVain records that the read of an object failed, if it failed for good.
func (d *Damper) readInVain(key inventory.Key, f *Failure, now time.Time) {
	if d != nil && f.Terminal {
		record(&d.failures, key, f, true, now)
	}
}

// readSucceeded records that the read of an object succeeded, and reports whether one
// had failed before. Then the other objects that failed may be tried, too.
func (d *Damper) readSucceeded(key inventory.Key) bool {
	if d == nil || d.failures[key] == nil || !d.failures[key].read {
		return false
	}
	clear(d.failures)
	return true
}

// couldNotRead reports whether the last read of an object failed, in this or an earlier engine.
func (d *Damper) couldNotRead(key inventory.Key) bool {
	return d != nil && d.failures[key] != nil && d.failures[key].read
}

// wroteInVain records that the write or deletion of an object failed.
func (d *Damper) wroteInVain(key inventory.Key, f *Failure, now time.Time) {
	switch {
	case d == nil:
	case f.Terminal:
		record(&d.failures, key, f, false, now)
		delete(d.failing, key)
	default:
		record(&d.failing, key, f, false, now)
		if again := d.failures[key]; again != nil {
			again.chosen = false
		}
	}
}

// writeSucceeded records that the write or deletion of an object succeeded, and reports
// whether one had failed before. Then the other objects that failed alike may be tried,
// too.
func (d *Damper) writeSucceeded(key inventory.Key) bool {
	if d == nil {
		return false
	}
	recovered := false
	for _, all := range []map[inventory.Key]*failed{d.failures, d.failing} {
		if all[key] != nil {
			clear(all)
			recovered = true
		}
	}
	return recovered
}

// lastFailure returns the last failure of an object, nil if it succeeded since.
func (d *Damper) lastFailure(key inventory.Key) *Failure {
	if d != nil {
		for _, all := range []map[inventory.Key]*failed{d.failures, d.failing} {
			if f := all[key]; f != nil {
				return f.last
			}
		}
	}
	return nil
}

// refuse returns the last failure of an object that failed for good and must not be
// tried again now, nil if it may be.
func (d *Damper) refuse(key inventory.Key, now time.Time) *Failure {
	if d == nil || d.failures[key] == nil {
		return nil
	}
	f := d.failures[key]
	if !f.chosen && !now.Before(d.nextRetry) {
		most, lasts := 1, now.Sub(f.since)
		if lasts < trialTime {
			most = maxRetries
		}
		d.choose(d.failures, most)
		d.nextRetry = now.Add(min(max(lasts/20, minRetryPause), writeInterval))
	}
	if f.chosen {
		return nil
	}
	return f.last
}

// trial returns the last failure of an object whose writes or deletions keep failing, and
// when the next trial is. The failure is nil if the object may be tried now.
func (d *Damper) trial(key inventory.Key, now time.Time) (*Failure, time.Time) {
	if d == nil || d.failing[key] == nil {
		return nil, time.Time{}
	}
	f := d.failing[key]
	lasts := now.Sub(f.since)
	if lasts < trialTime {
		return nil, time.Time{}
	}
	if !f.chosen && !now.Before(d.nextTrial) {
		d.choose(d.failing, 1)
		d.nextTrial = now.Add(min(lasts/20, maxTrialPause))
	}
	if f.chosen {
		return nil, time.Time{}
	}
	return f.last, d.nextTrial
}
