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
type Departures struct{ objects map[inventory.Key]departure }

// departure is when an object left its graph.
type departure struct {
	// recorded is the time in the inventory.
	recorded time.Time
	// since is the same time on the clock of the steps.
	since time.Time
}

// NewDepartures returns the memory of a process that knows of no departure.
func NewDepartures() *Departures { return &Departures{map[inventory.Key]departure{}} }

// since returns when an object left the graph, on the clock of now. Wall is now on
// the wall clock. If the recorded time is in the future, a clock was wrong, and the
// object leaves now.
func (d *Departures) since(entry inventory.Entry, now, wall time.Time) time.Time {
	known, ok := d.objects[entry.Key]
	if !ok || !known.recorded.Equal(entry.LeavingSince) {
		known = departure{entry.LeavingSince, now.Add(-max(0, wall.Sub(entry.LeavingSince)))}
		d.objects[entry.Key] = known
	}
	return known.since
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
			d.since(entry, now, wall)
		}
	}
}
