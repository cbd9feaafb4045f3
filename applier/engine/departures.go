package engine

import (
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// Departures remembers since when objects leave a graph, on the clock of the steps,
// which no change of the computer's wall clock affects. The inventory has the wall
// clock's time; it only counts when a process first learns of a departure. A
// Departures outlives engines, but not the process. It is not safe for concurrent
// use.
//
// If etcd is restored from a backup, recorded departures may be long past, although the
// graphs that took the objects over don't list them yet. So every departure leaves a rest
// of the grace period from when it is learned.
type Departures struct {
	objects map[inventory.Key]departure
	// rest is the part of the grace period that is left at least, as far as the period is
	// that long.
	rest time.Duration
}

// departure is when an object left its graph.
type departure struct {
	// recorded is the time in the inventory.
	recorded time.Time
	// since is the same time on the clock of the steps, and learned when the process
	// learned of it.
	since, learned time.Time
}

// NewDepartures returns the memory of a process that knows of no departure. Rest is the
// part of a grace period that every object has left from when the process learns of its
// departure.
func NewDepartures(rest time.Duration) *Departures {
	return &Departures{rest: rest}
}

// end returns when the grace period of an object that left the graph ends.
func (d *Departures) end(entry inventory.Entry, grace time.Duration, now, wall time.Time) time.Time {
	known := d.know(entry, now, wall)
	end, atLeast := known.since.Add(grace), known.learned.Add(min(grace, d.rest))
	if end.Before(atLeast) {
		return atLeast
	}
	return end
}

// know returns when an object left the graph, on the clock of now. Wall is now on the
// wall clock. If the recorded time is in the future, a clock was wrong, and the object
// leaves now.
func (d *Departures) know(entry inventory.Entry, now, wall time.Time) departure {
	known, ok := d.objects[entry.Key]
	if !ok || !known.recorded.Equal(entry.LeavingSince) {
		known = departure{entry.LeavingSince, now.Add(-max(0, wall.Sub(entry.LeavingSince))), now}
		if d.objects == nil {
			d.objects = map[inventory.Key]departure{}
		}
		d.objects[entry.Key] = known
	}
	return known
}

// learn remembers the departures in entries, and forgets all others. It is called when
// a departure is recorded or loaded, because the wall clock may jump before the time
// is needed.
func (d *Departures) learn(entries map[inventory.Key]inventory.Entry, now, wall time.Time) {
	for key := range d.objects {
		if entries[key].LeavingSince.IsZero() {
			delete(d.objects, key)
		}
	}
	for _, entry := range entries {
		if !entry.LeavingSince.IsZero() {
			d.know(entry, now, wall)
		}
	}
}
