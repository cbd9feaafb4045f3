package engine

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// TestDepartureOfTheFuture has an object whose departure a clock that was ahead has recorded. It leaves now: its
// grace period isn't longer than that of others, although the clock may have been ahead by years.
func TestDepartureOfTheFuture(t *testing.T) {
	const grace = time.Minute
	now, wall := time.Unix(1000, 0), time.Unix(2e9, 0)
	for _, test := range []struct {
		recorded time.Time
		want     time.Duration
	}{
		{wall.Add(-20 * time.Second), 40 * time.Second}, {wall.Add(-time.Hour), 0}, {wall, grace}, {wall.Add(24 * time.Hour), grace},
	} {
		end := NewDepartures(0).end(inventory.Entry{LeavingSince: test.recorded}, grace, now, wall)
		if got := max(0, end.Sub(now)); got != test.want {
			t.Errorf("recorded %s ago: kept for %s, want %s", wall.Sub(test.recorded), got, test.want)
		}
	}
}
